"""Converts the tools that Skillet shows over MCP for models of OpenAI and Google; run by model-schemas.mjs."""

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio
from agents.mcp.util import MCPUtil
from google.genai._mcp_utils import mcp_to_gemini_tools

# What OpenAI's strict mode takes beside the keywords of every schema.
STRICT_KEYWORDS = {
    "type", "title", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs",
    "minimum", "maximum", "minItems", "maxItems", "pattern", "format",
}
faults = []


def expect(condition, what):
    if not condition:
        faults.append(what)


def schemas_in(schema, path):
    """Every schema within one, with its path."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from schemas_in(inner, f"{path}/{name}")
    for i, inner in enumerate(schema.get("anyOf", [])):
        yield from schemas_in(inner, f"{path}/{i}")
    if "items" in schema:
        yield from schemas_in(schema["items"], f"{path}[]")


def is_open(schema):
    """Whether an object in it takes names that it does not say: no strict schema can."""
    return any(one.get("type") == "object" and not one.get("properties") for _, one in schemas_in(schema, ""))


def check_strict(name, schema):
    for path, one in schemas_in(schema, name):
        expect(set(one) <= STRICT_KEYWORDS, f"{path} has {sorted(set(one) - STRICT_KEYWORDS)}")
        expect(isinstance(one.get("type"), str) or "anyOf" in one, f"{path} has no single type: {one}")
        if one.get("type") == "object":
            expect(one.get("additionalProperties") is False, f"{path} is not closed")
            expect(sorted(one["required"]) == sorted(one["properties"]), f"{path} leaves names out")


def check_gemini(name, schema):
    """What the API itself refuses, beyond what the types of its client do."""
    expect(schema.type is not None or schema.any_of, f"{name} has no type")
    expect(schema.type != "ARRAY" or schema.items is not None, f"{name} has no items")
    expect(schema.enum is None or schema.type == "STRING", f"{name} has an enum that is none of texts")
    expect(schema.format in (None, "date-time"), f"{name} has the format {schema.format}")
    for field, inner in (schema.properties or {}).items():
        check_gemini(f"{name}/{field}", inner)
    for inner in schema.any_of or []:
        check_gemini(f"{name}/any_of", inner)
    if schema.items is not None:
        check_gemini(f"{name}[]", schema.items)


async def main():
    node, program = sys.argv[1:]
    async with MCPServerStdio(params={"command": node, "args": [program, "mcp", "--mcp-expose", "*"]}, client_session_timeout_seconds=60) as server:
        tools = await server.list_tools()
        loose = []
        for tool in tools:
            schema = tool.input_schema
            function = MCPUtil.to_function_tool(tool, server, convert_schemas_to_strict=True)
            expect(function.strict_json_schema is not is_open(schema), f"{tool.name} is {'' if function.strict_json_schema else 'not '}strict")
            if function.strict_json_schema:
                check_strict(tool.name, function.params_json_schema)
            else:
                loose.append(tool.name)
        own = {"execute", "list_skills", "search_skills"}
        expect(own <= {tool.name for tool in tools} and not own & set(loose), f"not strict: {sorted(own & set(loose))}")
        for converted in mcp_to_gemini_tools(tools):
            for declaration in converted.function_declarations:
                check_gemini(declaration.name, declaration.parameters)

        # A model in strict mode names every field, and closes `parameters`.
        execute = MCPUtil.to_function_tool(next(tool for tool in tools if tool.name == "execute"), server, convert_schemas_to_strict=True)
        arguments = {name: None for name in execute.params_json_schema["required"]}
        arguments.update(skill_name="text", tool_name="count", parameters={"parameters_json": json.dumps({"text": "a b"})})
        result = await server.call_tool("execute", arguments)
        expect(not result.is_error and '"words":2' in json.loads(result.content[0].text)["output"], f"execute answered {result}")
        print(f"{len(tools)} tools converted for OpenAI, {len(tools) - len(loose)} of them strict, and for Gemini; with open objects or no parameters: {', '.join(loose)}")


asyncio.run(main())
for fault in faults:
    print(f"model schemas: {fault}", file=sys.stderr)
sys.exit(1 if faults else 0)
