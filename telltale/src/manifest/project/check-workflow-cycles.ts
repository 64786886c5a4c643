import type { Diagnostic } from '../diagnostic.ts';
import { type DocumentNode, documentNode } from '../schema/checks/document-node.ts';
import { findCycles, showCycle } from '../schema/checks/find-cycles.ts';
import { stepLists } from '../schema/checks/workflow-steps.ts';
import type { ProjectDocument } from './project-document.ts';

interface Calls {
  readonly document: ProjectDocument;
  /** The `target`s of its workflow steps. */
  readonly targets: readonly DocumentNode[];
}

/** Workflows whose steps call each other in a circle: each call would wait for the next, down to the deepest. */
export function checkWorkflowCycles(documents: readonly ProjectDocument[]): Diagnostic[] {
  const calls = new Map<string, Calls>();
  for (const document of documents)
    if (document.kind === 'Workflow' && document.name !== undefined && !calls.has(document.name))
      calls.set(document.name, { document, targets: targetsOf(documentNode(document.document.value)) });
  const graph = new Map(
    [...calls].map(([name, { targets }]) => [name, targets.flatMap((target) => target.text() ?? [])]),
  );
  return findCycles(graph).flatMap((cycle) => {
    const first = calls.get(cycle[0] ?? '');
    const target = first?.targets.find((each) => each.text() === cycle[1]);
    if (first === undefined || target === undefined) return [];
    return [
      first.document.document.diagnose(
        { path: target.path, at: 'value' },
        {
          severity: 'error',
          code: 'cycle',
          message:
            cycle.length === 2
              ? `The workflow "${cycle[0]}" calls itself.`
              : `These workflows call each other: ${showCycle(cycle)}.`,
          hint: 'Break the cycle. Use a loop step to repeat, or a trigger to start the next workflow.',
        },
      ),
    ];
  });
}

const targetsOf = (workflow: DocumentNode): readonly DocumentNode[] =>
  stepLists(workflow).flatMap(({ steps }) =>
    steps.flatMap((step) => (step.at('type').value === 'workflow' ? [step.at('target')] : [])),
  );
