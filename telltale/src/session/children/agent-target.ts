import type { JsonObject } from '../../kernel/json.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { compileCheck } from '../../targets/check-parameters.ts';
import type { Target } from '../../targets/target.ts';
import { settableVariables } from '../variables/declared-variables.ts';
import { notInSession } from './child-errors.ts';

/** Beyond its own `limits.wall`, so that it ends by itself and says so. */
const SPARE_MS = 10_000;

/**
 * A session that is cancelled may wait 5 s for a model that does not listen and 10 s for a tool; then the same again for
 * each one below it.
 */
const GRACE_MS = 60_000;

/** An agent as something that actions can call. It is run by the session that calls it: `createChildRunner`. */
export function agentTarget(manifest: AgentManifest): Target {
  const { name, description, limits } = manifest;
  const parameters = parametersOf(manifest);
  return {
    kind: 'agent',
    name,
    description: description ?? `The agent ${name}.`,
    parameters,
    // After a crash its session goes on where its log ends: nothing it did is done again.
    idempotent: true,
    start: 'on_close',
    ...(limits.wall === undefined ? {} : { timeoutMs: limits.wall.ms + SPARE_MS }),
    graceMs: GRACE_MS,
    check: compileCheck(parameters, `agent "${name}"`),
    run: () => Promise.reject(notInSession(name)),
  };
}

function parametersOf(manifest: AgentManifest): JsonObject {
  const vars = variablesOf(manifest);
  return {
    type: 'object',
    properties: {
      input: {
        type: 'string',
        minLength: 1,
        description: 'The task, with all it has to know: it does not see your conversation.',
      },
      ...(Object.keys(vars).length === 0
        ? {}
        : {
            vars: {
              type: 'object',
              properties: vars,
              additionalProperties: false,
            },
          }),
    },
    required: ['input'],
    additionalProperties: false,
  };
}

/** Those that a model may set: the others are out of its hand, whichever model it is. */
function variablesOf(manifest: AgentManifest): JsonObject {
  const settable = settableVariables(manifest).filter(({ writers }) => writers.includes('model'));
  return Object.fromEntries(
    settable.map(({ name, type, description }) => [
      name,
      { ...(type === 'any' ? {} : { type }), ...(description === undefined ? {} : { description }) },
    ]),
  );
}
