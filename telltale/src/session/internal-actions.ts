import type { SessionState } from '../events/state.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import { suggest } from '../kernel/nearest.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { MAX_SHOWN } from '../prompt/limits.ts';
import { readOutput } from '../prompt/read-output.ts';
import { compileCheck } from '../targets/check-parameters.ts';
import type { Target } from '../targets/target.ts';

export interface InternalEdges {
  readonly state: SessionState;
  readonly rollback: (to: string | undefined) => Promise<{ readonly undone: readonly string[] }>;
}

interface Definition {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly idempotent: boolean;
  run(input: JsonObject, edges: InternalEdges): Promise<Json>;
}

const DEFINITIONS: readonly Definition[] = [
  {
    name: 'read_output',
    description: 'Reads on in a result that was too long to be shown whole.',
    idempotent: true,
    parameters: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'The action whose result it is.' },
        offset: { type: 'integer', minimum: 0, description: 'The first character to show; 0 if absent.' },
        limit: { type: 'integer', minimum: 1, maximum: MAX_SHOWN, description: 'How many characters.' },
      },
      required: ['id'],
      additionalProperties: false,
    },
    run: async (input, { state }) => {
      const { id, offset, limit } = input as { id: string; offset?: number; limit?: number };
      const action = state.actions.get(id);
      if (action === undefined) throw noSuchAction(id, [...state.actions.keys()]);
      return { ...readOutput(action, offset, limit) };
    },
  },
  {
    name: 'rollback',
    description:
      'Undoes completed actions in reverse order by running what each declared as "compensate", down to and including the one named.',
    idempotent: false,
    parameters: {
      type: 'object',
      properties: { to: { type: 'string', description: 'The action to go back to; all of them if absent.' } },
      additionalProperties: false,
    },
    run: async (input, { state, rollback }) => {
      const { to } = input as { to?: string };
      if (to !== undefined && !state.actions.has(to)) throw noSuchAction(to, [...state.actions.keys()]);
      const { undone } = await rollback(to);
      return { undone: [...undone] };
    },
  },
];

/** The names of those there are. */
export const INTERNAL_ACTIONS: readonly string[] = DEFINITIONS.map(({ name }) => name);

/** An internal action, made ready once for all sessions of an agent. */
export interface InternalAction extends Omit<Definition, 'run'> {
  check(input: JsonObject): RuntimeError | undefined;
  /** The same as something a session's scheduler can call. */
  bind(edges: InternalEdges): Target;
}

/** The actions on the agent's own environment that its manifest allows. */
export function allowedInternalActions(
  settings: AgentManifest['internal_actions'],
): readonly InternalAction[] {
  if (!settings.enabled) return [];
  const { allowed_actions: allowed, blocked_actions: blocked } = settings;
  return DEFINITIONS.filter(
    ({ name }) =>
      (allowed === undefined || allowed.some((each) => each === name)) &&
      !blocked.some((each) => each === name),
  ).map(prepared);
}

function prepared({ run, ...definition }: Definition): InternalAction {
  const check = compileCheck(definition.parameters, `internal action "${definition.name}"`);
  return {
    ...definition,
    check,
    bind: (edges) => ({
      ...definition,
      kind: 'internal',
      start: 'on_close',
      check,
      run: ({ input }) => run(input, edges),
    }),
  };
}

const noSuchAction = (id: string, known: readonly string[]) =>
  new RuntimeError('action_unknown', `No action has the id "${id}".`, {
    hint: suggest(id, known.slice(-20), 'The latest ids'),
  });
