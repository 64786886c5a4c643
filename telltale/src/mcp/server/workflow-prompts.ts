import type { GetPromptResult, Prompt } from '@modelcontextprotocol/sdk/types.js';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { LoadedWorkflow } from '../../session/runs/run-types.ts';
import { type ServeCatalog, workflowIn } from './serve-catalog.ts';

/** Values that are offered at a time: the protocol's own limit. */
const MAX_VALUES = 100;

/** Each workflow as a prompt that a person chooses in their client: it has the model start the workflow and work through it. */
export const listPrompts = ({ workflows }: ServeCatalog): Prompt[] =>
  [...workflows].map(([name, { manifest }]) => ({
    name,
    description: manifest.description ?? `Works through the workflow "${name}".`,
    arguments: Object.entries(propertiesOf(manifest)).map(([key, schema]) => ({
      name: key,
      ...(typeof schema.description === 'string' ? { description: schema.description } : {}),
      required: requiredOf(manifest).includes(key),
    })),
  }));

/** Throws `no_workflow`. */
export function getPrompt(
  catalog: ServeCatalog,
  name: string,
  given: Readonly<Record<string, string>>,
): GetPromptResult {
  const { manifest } = workflowIn(catalog, name);
  const properties = propertiesOf(manifest);
  const input = Object.fromEntries(
    Object.entries(given).map(([key, text]) => [key, readArgument(text, properties[key])] as const),
  );
  const start = JSON.stringify({ workflow: name, ...(Object.keys(input).length === 0 ? {} : { input }) });
  const text = `Work through the workflow "${name}". Call start_workflow with ${start}. Then do what each step says, one after another, and complete each with continue_workflow until isComplete is true.`;
  return {
    ...(manifest.description === undefined ? {} : { description: manifest.description }),
    messages: [{ role: 'user', content: { type: 'text', text } }],
  };
}

/** The values that an argument may have, as far as the workflow's schema names them. */
export function completeArgument(
  catalog: ServeCatalog,
  name: string,
  argument: { readonly name: string; readonly value: string },
): readonly string[] {
  const { enum: named } = propertiesOf(workflowIn(catalog, name).manifest)[argument.name] ?? {};
  const values = Array.isArray(named) ? named.map(String) : [];
  return values.filter((value) => value.startsWith(argument.value)).slice(0, MAX_VALUES);
}

type Manifest = LoadedWorkflow<unknown>['manifest'];

function propertiesOf({ input }: Manifest): Readonly<Record<string, JsonObject>> {
  const properties = (input as JsonObject | undefined)?.properties;
  return typeof properties === 'object' && properties !== null
    ? (properties as unknown as Record<string, JsonObject>)
    : {};
}

function requiredOf({ input }: Manifest): readonly string[] {
  const required = (input as JsonObject | undefined)?.required;
  return Array.isArray(required) ? required.map(String) : [];
}

/** Arguments of prompts are texts: where the schema wants something else, they are read as JSON. */
function readArgument(text: string, schema: JsonObject | undefined): Json {
  if (schema === undefined || schema.type === undefined || schema.type === 'string') return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text; // start_workflow says what is wrong with it
  }
}
