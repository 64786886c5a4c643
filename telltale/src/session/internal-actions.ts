import type { SessionState } from '../events/state.ts';
import type { Json, JsonObject } from '../kernel/json.ts';
import { suggest } from '../kernel/nearest.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { compileUserSchema } from '../manifest/schema/user-schemas/check-user-schema.ts';
import { readOutput } from '../prompt/read-output.ts';
import type { Target } from '../targets/target.ts';

export interface InternalEdges {
  readonly state: SessionState;
  readonly rollback: (to: string | undefined, by: string) => Promise<{ readonly undone: readonly string[] }>;
}

interface Definition {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly idempotent: boolean;
  run(input: JsonObject, id: string, edges: InternalEdges): Promise<Json>;
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
        limit: { type: 'integer', minimum: 1, maximum: 65_536, description: 'How many characters.' },
      },
      required: ['id'],
      additionalProperties: false,
    },
    run: async (input, _, { state }) => {
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
    run: async (input, id, { state, rollback }) => {
      const { to } = input as { to?: string };
      if (to !== undefined && !state.actions.has(to)) throw noSuchAction(to, [...state.actions.keys()]);
      const { undone } = await rollback(to, id);
      return { undone: [...undone] };
    },
  },
];

/** The actions on the agent's own environment that its manifest allows. */
export function createInternalActions(
  settings: AgentManifest['internal_actions'],
  edges: InternalEdges,
): readonly Target[] {
  if (!settings.enabled) return [];
  return DEFINITIONS.filter(
    ({ name }) =>
      (settings.allowed_actions === undefined || settings.allowed_actions.some((allowed) => allowed === name)) &&
      !settings.blocked_actions.some((blocked) => blocked === name),
  ).map((definition) => toTarget(definition, edges));
}

function toTarget({ run, ...definition }: Definition, edges: InternalEdges): Target {
  let violation: ReturnType<typeof compileUserSchema> | undefined;
  return {
    ...definition,
    kind: 'internal',
    start: 'on_close',
    check(input) {
      violation ??= compileUserSchema(definition.parameters);
      const wrong = violation(input);
      return wrong === undefined ? undefined : badParameters(definition.name, wrong);
    },
    run: ({ input, id }) => run(input, id, edges),
  };
}

const badParameters = (name: string, wrong: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${name} are wrong: ${wrong}.`, {
    hint: 'Its parameters are described in the system prompt.',
  });

const noSuchAction = (id: string, known: readonly string[]) =>
  new RuntimeError('action_unknown', `No action has the id "${id}".`, {
    hint: suggest(id, known.slice(-20), 'The latest ids'),
  });
