import type { Issue } from '../../issue.ts';
import { APPROVAL_DECIDES, checkGuards } from './check-guarded-variables.ts';
import { checkVerifyCommand } from './check-program.ts';
import { type DeclaredVariable, RESERVED } from './check-variables.ts';
import { type DocumentNode, errorAt } from './document-node.ts';
import { stepName } from './workflow-steps.ts';

/** What `complete_step` writes, who judges it, and what may not go by it. */
export function checkTasks(
  steps: readonly DocumentNode[],
  variables: readonly DeclaredVariable[],
): readonly Issue[] {
  const written = writtenByTasks(steps, variables);
  const approvals = steps
    .filter((step) => step.at('type').value === 'approval')
    .flatMap((step) => APPROVAL_DECIDES.map((key) => step.at(key)));
  const verifiers = steps.map((step) => step.at('verify'));
  return [
    ...checkRequiredKeys(steps, variables),
    ...verifiers.flatMap(checkVerifyCommand),
    ...checkGuards(approvals, 'an approval', written),
    ...checkGuards(verifiers, 'a verifier', written),
  ];
}

/** What steps require in `context_updates`: whoever works on them writes it. Places in the manifest, by name. */
export const requiredKeys = (
  steps: readonly DocumentNode[],
): readonly { readonly name: string; readonly place: DocumentNode; readonly step: string }[] =>
  steps
    .filter((step) => step.at('type').value === 'task')
    .flatMap((step) =>
      step
        .at('requires')
        .entries()
        .map(([name, place]) => ({ name, place, step: stepName(step) ?? '?' })),
    );

/** Variables that no manifest declares; those that it does are judged by their writers. */
function writtenByTasks(
  steps: readonly DocumentNode[],
  variables: readonly DeclaredVariable[],
): ReadonlyMap<string, string> {
  const declared = new Set(variables.map(({ name }) => name));
  return new Map(
    requiredKeys(steps)
      .filter(({ name }) => !declared.has(name))
      .map(({ name, step }) => [name, `the agent that works on the step "${step}" writes it`] as const),
  );
}

/** A task cannot require what a model may not write; `agent` is whose variables these are, if not the workflow's own. */
export function checkRequiredKeys(
  steps: readonly DocumentNode[],
  variables: readonly DeclaredVariable[],
  agent?: string,
): readonly Issue[] {
  const named = new Map(variables.map((each) => [each.name, each]));
  const whose = agent === undefined ? '' : ` of the agent "${agent}"`;
  return requiredKeys(steps).flatMap(({ name, place }) => {
    if (RESERVED.includes(name) && agent === undefined)
      return [
        errorAt(place, 'reserved_name', `A task cannot require "${name}".`, {
          hint: `These names are reserved in conditions: ${RESERVED.join(', ')}.`,
          at: 'key',
        }),
      ];
    const variable = named.get(name);
    const why = variable === undefined ? undefined : whyNot(variable);
    if (why === undefined) return [];
    const message = `A task cannot require "${name}": the variable${whose} of that name ${why}.`;
    return [
      errorAt(place, 'not_writable', message, {
        hint: 'Require another key, or add "model" to the "writers" of the variable.',
        at: 'key',
      }),
    ];
  });
}

function whyNot({ class: kind, node }: DeclaredVariable): string | undefined {
  if (kind === 'derived') return 'is derived, so nobody can set it';
  const writers = node.at('writers');
  if (writers.value === undefined) return undefined;
  const may = writers.items().map((writer) => writer.text());
  return may.includes('model') ? undefined : 'cannot be written by the model';
}
