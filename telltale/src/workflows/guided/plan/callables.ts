import { suggest } from '../../../kernel/nearest.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { WorkflowManifest } from '../../../manifest/schema/kinds.ts';
import type { Target, TargetKind, TargetTable } from '../../../targets/target.ts';

/** Never internal actions, which act on a session; nor prompts and artifacts: a plan is executed without a model. */
const KINDS = ['tool', 'relic', 'agent', 'workflow'] as const;
/** What an agent has by itself: its agents and workflows are called in the name of the run's own. */
export const OWN_KINDS = ['tool', 'relic'] as const;
export type CallableKind = (typeof KINDS)[number];

export interface Callable {
  readonly kind: CallableKind;
  readonly target: Target;
}

/** What a plan may call, by the name that the model writes: the target's own, or `KIND:NAME` where two kinds have it. */
export type Callables = ReadonlyMap<string, Callable>;

/**
 * The targets of `tools`, or all that can be called; of these the workflow that plans is none, so that no plan begins
 * itself over again unless that was written down. Throws `target_unknown` for a name that is not there.
 */
export function callablesOf(
  { all }: Pick<TargetTable, 'all'>,
  tools: readonly string[] | undefined,
  { name: own }: Pick<WorkflowManifest, 'name'>,
  kinds: readonly CallableKind[] = KINDS,
): Callables {
  const there = all.flatMap((target): readonly Callable[] =>
    isOneOf(kinds, target.kind) ? [{ kind: target.kind, target }] : [],
  );
  const names = there.map(({ target }) => target.name);
  for (const tool of tools ?? []) if (!names.includes(tool)) throw toolUnknown(tool, names);
  const chosen = there.filter(({ kind, target: { name } }) =>
    tools === undefined ? kind !== 'workflow' || name !== own : tools.includes(name),
  );
  if (chosen.length === 0) throw nothingToCall();
  const isTwice = (name: string) => chosen.filter(({ target }) => target.name === name).length > 1;
  return new Map(
    chosen.map((each) => {
      const { name } = each.target;
      return [isTwice(name) ? `${each.kind}:${name}` : name, each];
    }),
  );
}

const isOneOf = (kinds: readonly CallableKind[], kind: TargetKind): kind is CallableKind =>
  (kinds as readonly TargetKind[]).includes(kind);

const toolUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('target_unknown', `"tools" names "${name}", which is no tool, relic, agent or workflow.`, {
    hint: suggest(name, known, 'There are'),
  });

const nothingToCall = () =>
  new RuntimeError('target_unknown', 'There is nothing that a plan could call.', {
    hint: 'Import tools into the agent, or name some in "tools".',
  });
