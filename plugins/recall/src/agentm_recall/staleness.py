def check_project(index: str, project: str, root: str) -> None:
    pass
