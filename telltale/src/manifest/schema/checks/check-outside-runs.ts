import { parseTemplate } from '../../../conditions/templates/parse-template.ts';
import type { Issue } from '../../issue.ts';
import type { DeclaredVariable } from './check-variables.ts';
import { templatesOf } from './check-workflow-names.ts';
import { type DocumentNode, warningAt } from './document-node.ts';

/** What starts a workflow for itself, in no session. One without triggers is called by others, which may have one. */
const OUTSIDE: ReadonlySet<unknown> = new Set(['schedule', 'webhook']);

/** What a workflow asks of a session although all that starts it has none. */
export function checkOutsideRuns(
  triggers: readonly DocumentNode[],
  variables: readonly DeclaredVariable[],
  steps: readonly DocumentNode[],
): readonly Issue[] {
  const types = triggers.map((trigger) => trigger.at('type').value).filter((type) => type !== undefined);
  if (types.length === 0 || !types.every((type) => OUTSIDE.has(type))) return [];
  return [
    ...variables.flatMap(checkKey),
    ...steps.flatMap(checkSetting),
    ...steps.flatMap((step) => templatesOf(step).flatMap(({ text, place }) => checkReading(text, place))),
  ];
}

function checkKey({ name, class: kind, node }: DeclaredVariable): readonly Issue[] {
  const key = node.at('key');
  if (kind !== 'defined' || (key.value ?? 'session') !== 'session' || node.at('store').value !== undefined)
    return [];
  return [
    warningAt(
      key.value === undefined ? node.at('name') : key,
      'no_effect',
      `"${name}" is kept per session, but this workflow is started without a session. The value is lost after the run.`,
      { hint: 'Choose how long it is kept: "key: agent" or "key: user".' },
    ),
  ];
}

const checkSetting = (step: DocumentNode): readonly Issue[] =>
  step.at('type').value !== 'set_metadata'
    ? []
    : [
        warningAt(
          step.at('type'),
          'no_session',
          'This workflow is started without a session, so there is no metadata to set and the step fails.',
          { hint: 'Keep the value in a variable with "key: agent" (set_variable), or in a relic.' },
        ),
      ];

function checkReading(text: string, place: DocumentNode): readonly Issue[] {
  const parsed = parseTemplate(text, {});
  if (!parsed.ok) return []; // told of elsewhere
  return parsed.value.pieces.flatMap((piece) =>
    piece.kind === 'reference' &&
    piece.root === 'agent' &&
    piece.path[0] === 'metadata' &&
    piece.otherwise.length === 0
      ? [
          warningAt(
            place,
            'no_session',
            'This workflow is started without a session, so "agent.metadata" is empty.',
            {
              hint: 'Write a fallback: ${agent.metadata.FIELD ?? value}. Or read a variable.',
              offset: piece.offset,
            },
          ),
        ]
      : [],
  );
}
