import type { CodeManifest } from '../../manifest/project/code-manifest.ts';
import type { CodeTool } from '../../targets/code/code-tool.ts';
import { type Found, notAFunction } from './code-findings.ts';
import type { DefinedTool } from './define-tool.ts';
import { jsonSchemaOf } from './json-schema-of.ts';
import { isStandardSchema, standardOf } from './schema.ts';
import { shownSchema } from './shown-schema.ts';

/** A tool as the checks of manifests see it. */
export async function toolManifest(tool: DefinedTool, folder: string): Promise<CodeManifest> {
  const { parameters, jsonSchema, output, run, ...settings } = tool.definition as Readonly<
    Record<string, unknown>
  >;
  const label = `defineTool(${JSON.stringify(tool.name) ?? ''})`;
  const findings: Found[] = [];
  if (typeof run !== 'function') findings.push({ path: ['run'], finding: notAFunction(run) });
  const results = await readOutput(output);
  const shown = await shownSchema(parameters, jsonSchema, ['parameters'], findings);
  const code: CodeTool = {
    run: run as CodeTool['run'],
    parameters: standardOf(parameters),
    output: results.standard,
  };
  return {
    label,
    folder,
    value: {
      kind: 'Tool',
      ...settings,
      ...(shown === undefined ? {} : { parameters: shown }),
      ...(results.document === undefined ? {} : { output: results.document }),
      implementation: { module: label }, // every Tool has one; where there is code, nobody asks for it
    },
    identity: tool,
    code,
    pinned: {},
    writtenAt: (path) => {
      if (path[0] === 'parameters' && jsonSchema !== undefined) return ['jsonSchema', ...path.slice(1)];
      return path[0] === 'output' && isStandardSchema(output) ? ['output'] : path;
    },
    findings,
    imports: [],
  };
}

/** A schema alone, or `{ schema, max_bytes }`. One that cannot be written as JSON Schema is not in the document. */
async function readOutput(output: unknown) {
  const parts = (isStandardSchema(output) ? { schema: output } : output) as
    | Readonly<Record<string, unknown>>
    | undefined;
  const standard = standardOf(parts?.schema);
  if (standard === undefined || parts === undefined) return { standard: undefined, document: output };
  const { schema: _, ...rest } = parts;
  const made = await jsonSchemaOf(standard, 'output');
  return { standard, document: made.ok ? { ...rest, schema: made.schema } : rest };
}
