import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { ToolManifest } from '../../manifest/schema/kinds.ts';
import { behindApproval } from '../access/need.ts';
import { compileCheck, compileViolation } from '../check-parameters.ts';
import { type CodeTool, codeTool } from '../code/code-tool.ts';
import { definitionHash } from '../definition/definition-hash.ts';
import { DEFAULT_OUTPUT_BYTES } from '../output/output-limits.ts';
import type { Target, TargetCall } from '../target.ts';
import type { TargetDeps } from '../target-edges.ts';
import { commandTool } from './command-tool.ts';
import { httpTool } from './http-tool.ts';
import type { Implemented, ToolContext } from './implementation.ts';
import { mcpTool, withServersWords } from './mcp-tool.ts';
import { moduleTool } from './module-tool.ts';
import { scriptTool } from './script-tool.ts';

/**
 * A Tool manifest as something an action can call. `file` is where the manifest stands; `code` is what runs it where it
 * was written in code.
 */
export function toolTarget(manifest: ToolManifest, file: string, deps: TargetDeps, code?: CodeTool): Target {
  const tool = withServersWords(manifest, deps.servers);
  const { name, parameters, approval, output } = tool;
  const what = `tool "${name}"`;
  const properties = isMap(parameters.properties) ? parameters.properties : {};
  const context: ToolContext = {
    what,
    file,
    parameterNames: new Set(Object.keys(properties)),
    maxBytes: output?.max_bytes?.bytes ?? DEFAULT_OUTPUT_BYTES,
    wantsJson: output?.schema !== undefined,
    stream: tool.stream,
    isApproved: approval !== 'never',
    isStrict: approval === 'strict' || (approval === 'always' && deps.permissions.isStrict),
    timeoutMs: tool.timeout?.ms,
  };
  const own = code === undefined ? undefined : codeTool(code, context);
  const {
    run: implementation,
    needs,
    covers,
    code: codeHash,
  }: Implemented = own === undefined
    ? implement(tool, context, deps)
    : { run: own.implementation, code: () => String(code?.run) };
  const defaults = defaultsOf(properties);
  const outputViolation =
    output?.schema === undefined || code?.output !== undefined
      ? undefined
      : compileViolation(output.schema, `"output.schema" of ${what}`);

  const checked = async (call: TargetCall): Promise<Json> => {
    const result = await implementation({ ...defaults, ...call.input }, call);
    const violation = outputViolation?.(result);
    if (violation !== undefined) throw outputViolates(what, violation.message);
    return result;
  };
  const target: Target = {
    kind: 'tool',
    name,
    description: tool.description ?? '',
    parameters,
    idempotent: tool.idempotent,
    start: tool.start,
    ...(tool.background === true ? { background: true } : {}),
    ...(tool.timeout === undefined ? {} : { timeoutMs: tool.timeout.ms }),
    ...(tool.max_parallel === undefined ? {} : { slots: { key: what, max: tool.max_parallel } }),
    check: own?.check ?? compileCheck(parameters, what),
    ...(needs === undefined ? {} : { needs: (input, context) => needs({ ...defaults, ...input }, context) }),
    definition: () => definitionHash({ manifest: tool as unknown as Json, code: codeHash?.() ?? null }),
    run: (call) =>
      outputViolation === undefined ? implementation({ ...defaults, ...call.input }, call) : checked(call),
  };
  if (approval === 'never') return target;
  return behindApproval(
    target,
    approval,
    context.isStrict,
    covers && ((input, more) => covers({ ...defaults, ...input }, more)),
  );
}

function implement({ implementation }: ToolManifest, context: ToolContext, deps: TargetDeps): Implemented {
  if ('module' in implementation) return moduleTool(implementation, context);
  if ('command' in implementation) return commandTool(implementation, context, deps);
  if ('http' in implementation) return httpTool(implementation.http, context, deps);
  if ('mcp' in implementation) {
    const { server, tool } = implementation.mcp;
    const found = deps.servers.get(server)?.tools.find(({ name }) => name === tool);
    const code = () => JSON.stringify(found ?? null);
    return { run: mcpTool(implementation.mcp, context, deps), code };
  }
  return { run: scriptTool(implementation, context, deps) };
}

/** Of parameters at the top only: what stands in them is one value to the schema's author. */
function defaultsOf(properties: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) =>
      isMap(schema) && Object.hasOwn(schema, 'default') ? [[name, schema.default as Json]] : [],
    ),
  );
}

const outputViolates = (what: string, message: string) =>
  new RuntimeError('bad_output', `The result of ${what} does not fit its "output.schema": ${message}`, {
    hint: 'Mend the tool, or its schema.',
  });
