import { parseExpression } from '../../conditions/cel/parse-expression.ts';
import { parseTemplate } from '../../conditions/templates/parse-template.ts';
import type { Issue } from '../issue.ts';
import { templatesOf } from '../schema/checks/check-workflow-names.ts';
import { type DocumentNode, textsUnder, warningAt } from '../schema/checks/document-node.ts';

/** Of `agent`, what a session has only once it works. */
const LATER: readonly string[] = ['metadata', 'iteration_count', 'actions_executed', 'thoughts', 'responses'];

/** Keys whose text is CEL, wherever in a workflow they stand; `always` and its like read nothing. */
const CEL_KEYS: ReadonlySet<unknown> = new Set(['if', 'condition', 'while', 'until']);
/** Below these stands a user's own data. */
const DATA: ReadonlySet<unknown> = new Set(['parameters', 'requires', 'input', 'args', 'values', 'data']);

/**
 * What a run sees as `agent` is what it was when the run began, and the run that leads a session begins with it: what is
 * declared and done in the session never gets there.
 */
export function checkLeadingReads(
  workflow: DocumentNode,
  agent: DocumentNode,
  steps: readonly DocumentNode[],
): readonly Issue[] {
  const name = workflow.at('name').text();
  const isStartedOtherwise = workflow.has('trigger') || workflow.has('triggers');
  if (name === undefined || agent.at('workflow').text() !== name || isStartedOtherwise) return [];
  const metadata = agent.at('metadata');
  // Then a session has values of others from its beginning on.
  const isTakenOver = metadata.at('scope').text() === 'agent' || metadata.has('inherit');
  const empty = new Set(LATER.filter((part) => part !== 'metadata' || !isTakenOver));
  const told = (place: DocumentNode, read: string, offset: number): readonly Issue[] =>
    empty.has(read.replace('agent.', '')) ? [frozen(place, read, offset)] : [];
  const tests = [...textsUnder(workflow)].flatMap(([text, place]) => {
    if (!CEL_KEYS.has(place.path.at(-1)) || place.path.some((key) => DATA.has(key))) return [];
    const parsed = parseExpression(text);
    if (!parsed.ok) return [];
    return parsed.value.names.flatMap(({ root, path: [part], offset }) =>
      told(place, root === 'agent' ? `agent.${part}` : root, offset),
    );
  });
  const texts = steps.flatMap(templatesOf).flatMap(({ text, place }) => {
    const parsed = parseTemplate(text);
    if (!parsed.ok) return [];
    return parsed.value.pieces.flatMap((piece) =>
      piece.kind === 'reference' && piece.root === 'agent'
        ? told(place, `agent.${piece.path[0]}`, piece.offset)
        : [],
    );
  });
  return [...tests, ...texts];
}

const frozen = (place: DocumentNode, read: string, offset: number): Issue =>
  warningAt(
    place,
    'as_it_began',
    `"${read}" keeps the value that it had when the run began. This workflow leads its session from the beginning, so this value never changes.`,
    { hint: 'Let a task provide the value ("requires"), and read that variable.', offset },
  );
