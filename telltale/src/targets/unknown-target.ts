import { nearest } from '../kernel/nearest.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import { clip } from '../manifest/schema/show-value.ts';
import type { Target, TargetKind } from './target.ts';

const MAX_LISTED = 20;

type Known = readonly Pick<Target, 'kind' | 'name'>[];

/**
 * What is wrong with the name of an action's target: of another kind, misspelt, or simply not there. `listed` are the
 * names that the hint lists, where that is not all.
 */
export function unknownTarget(
  kind: TargetKind,
  name: string,
  { all, listed }: { readonly all: Known; readonly listed?: readonly string[] },
): RuntimeError {
  const elsewhere = all.find((target) => target.name === name && target.kind !== kind);
  const known = all.flatMap((target) => (target.kind === kind ? [target.name] : []));
  return new RuntimeError('target_unknown', `There is no ${KIND_LABELS[kind]} "${clip(name)}".`, {
    hint:
      elsewhere === undefined
        ? hintFor(name, known, all, listed)
        : `It is ${article(elsewhere.kind)}: write type="${elsewhere.kind}".`,
  });
}

function hintFor(name: string, known: readonly string[], all: Known, listed = known): string {
  const near = nearest(name, known);
  if (near !== undefined) return `Did you mean "${near}"?`;
  const other = nearest(
    name,
    all.map((target) => target.name),
  );
  const target = all.find((each) => each.name === other);
  if (target !== undefined)
    return `Did you mean the ${KIND_LABELS[target.kind]} "${target.name}" (type="${target.kind}")?`;
  if (listed.length === 0) return 'There are none of this kind.';
  const more = listed.length > MAX_LISTED ? `, … (${listed.length} in all)` : '';
  return `There are: ${listed.slice(0, MAX_LISTED).join(', ')}${more}.`;
}

export const KIND_LABELS: Readonly<Record<TargetKind, string>> = {
  tool: 'tool',
  agent: 'agent',
  relic: 'relic',
  workflow: 'workflow',
  llm: 'prompt',
  artifact: 'artifact',
  internal: 'internal action',
};

const article = (kind: TargetKind) => `${/^[aei]/.test(KIND_LABELS[kind]) ? 'an' : 'a'} ${KIND_LABELS[kind]}`;
