"""Calls all operations by a client that openapi-python-client generated; run by openapi-clients.mjs."""

import importlib
import inspect
import json
import pkgutil
import sys

import skillet_client.api
from skillet_client import AuthenticatedClient
from skillet_client.models import Error, ErrorCode

url, key, file = sys.argv[1:]
with open(file, encoding="utf-8") as calls_file:
    calls = json.load(calls_file)

generated = {f"{tag.name}.{one.name}" for tag in pkgutil.iter_modules(skillet_client.api.__path__)
             for one in pkgutil.iter_modules(importlib.import_module(f"skillet_client.api.{tag.name}").__path__)}
described = {f"{call['tag']}.{call['name']}" for call in calls}
assert generated >= described, f"generated: {sorted(generated)}, described: {sorted(described)}"

client = AuthenticatedClient(base_url=url, token=key, raise_on_unexpected_status=True)
execution_id = None
for call in calls:
    module = importlib.import_module(f"skillet_client.api.{call['tag']}.{call['name']}")
    arguments = {**call["values"]["path"], **call["values"]["query"]}
    if "id" in arguments:
        arguments["id"] = execution_id
    if "body" in call:
        arguments["body"] = inspect.signature(module.sync_detailed).parameters["body"].annotation.from_dict(call["body"])
    answer = module.sync_detailed(client=client, **arguments)
    assert answer.status_code == call["status"], f"{call['name']} answered {answer.status_code}: {answer.content!r}"
    assert answer.parsed is not None and answer.parsed.to_dict()["api_version"], f"{call['name']} is not read"
    if call["status"] != 200:
        assert isinstance(answer.parsed, Error) and answer.parsed.error.code == ErrorCode(call["code"]), f"{call['name']}: {answer.parsed}"
    if call["name"] == "execute":
        execution_id = answer.parsed.execution_id

print(f"{len(calls)} operations called by a client of openapi-python-client")
