import type { Json, JsonObject } from '../../kernel/json.ts';
import { compileCheck } from '../check-parameters.ts';
import { DEFAULT_OUTPUT_BYTES } from '../output/output-limits.ts';
import { plainJson } from '../output/plain-json.ts';
import type { Target } from '../target.ts';
import { mcpTargetName } from './mcp-names.ts';
import { contentResult, pick } from './mcp-result.ts';
import type { McpServer } from './mcp-server.ts';
import { offersGone } from './offers-gone.ts';

const LIST_PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    matching: {
      type: 'string',
      description: 'Only those with this text in their address, name or description, in any case.',
    },
  },
  additionalProperties: false,
};

const READ_PARAMETERS: JsonObject = {
  type: 'object',
  properties: {
    uri: { type: 'string', minLength: 1, description: 'As it was listed, or made from a template that was.' },
  },
  required: ['uri'],
  additionalProperties: false,
};

/** A server's resources, as two things an action can call: what there is, and what stands in one. */
export const resourceTargets = (server: McpServer): readonly Target[] => [
  listTarget(server),
  readTarget(server),
];

function listTarget(server: McpServer): Target {
  const name = mcpTargetName(server.name, 'list_resources');
  const what = `tool "${name}"`;
  return {
    kind: 'tool',
    name,
    description: `Lists the resources of the MCP server "${server.name}": documents, records and other data, each with the uri by which ${mcpTargetName(server.name, 'read_resource')} reads it; and templates of such addresses, with what to fill in between braces.`,
    parameters: LIST_PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(LIST_PARAMETERS, what),
    async run({ input, signal }) {
      const found = await resourcesOf(server).list({ what, signal });
      const wanted = typeof input.matching === 'string' ? input.matching.toLowerCase() : '';
      const resources = found.resources.filter((one) => matches(one, wanted));
      const templates = found.templates.filter((one) => matches(one, wanted));
      const result = {
        resources: resources.map((one) =>
          pick(one, ['uri', 'name', 'title', 'description', 'mimeType', 'size']),
        ),
        ...(templates.length === 0
          ? {}
          : {
              templates: templates.map((one) =>
                pick(one, ['uriTemplate', 'name', 'title', 'description', 'mimeType']),
              ),
            }),
        ...(found.isCut ? { cut: 'There are more, which were not listed.' } : {}),
      };
      return plainJson(result, what, DEFAULT_OUTPUT_BYTES);
    },
  };
}

function readTarget(server: McpServer): Target {
  const name = mcpTargetName(server.name, 'read_resource');
  const what = `tool "${name}"`;
  return {
    kind: 'tool',
    name,
    description: `Reads a resource of the MCP server "${server.name}" by its uri; ${mcpTargetName(server.name, 'list_resources')} says which there are. The result is its text, or JSON where it is no text.`,
    parameters: READ_PARAMETERS,
    idempotent: true,
    start: 'on_close',
    check: compileCheck(READ_PARAMETERS, what),
    async run({ input, signal }): Promise<Json> {
      const contents = await resourcesOf(server).read({ what, signal, uri: String(input.uri) });
      const [only] = contents;
      // What was asked for by its address need not be told it.
      if (contents.length === 1 && typeof only?.text === 'string')
        return contentResult([{ type: 'text', text: only.text }], what, DEFAULT_OUTPUT_BYTES);
      const blocks = contents.map((resource) => ({ type: 'resource', resource }));
      return contentResult(blocks, what, DEFAULT_OUTPUT_BYTES);
    },
  };
}

function matches(one: JsonObject, wanted: string): boolean {
  if (wanted === '') return true;
  return ['uri', 'uriTemplate', 'name', 'title', 'description'].some((key) =>
    String(one[key] ?? '')
      .toLowerCase()
      .includes(wanted),
  );
}

function resourcesOf(server: McpServer) {
  if (server.resources === undefined) throw offersGone(server.name, 'resources');
  return server.resources;
}
