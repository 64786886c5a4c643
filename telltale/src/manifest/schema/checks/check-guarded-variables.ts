import type { Issue } from '../../issue.ts';
import { variablesMentioned, variablesRead } from './check-names.ts';
import { type DeclaredVariable, triggersOf } from './check-variables.ts';
import { type DocumentNode, errorAt, textsUnder } from './document-node.ts';

/** Keys whose text is CEL, so that bare names in it are variables. */
const CEL_KEYS: readonly (string | number | undefined)[] = [
  'if',
  'condition',
  'test',
  'while',
  'until',
  'expression',
];

/** Of an approval, what decides whether, of whom and for how long it is asked. What it tells that person may be anything. */
export const APPROVAL_DECIDES = ['if', 'condition', 'assignee', 'options', 'timeout', 'on_timeout'];

/**
 * What a permission, an approval or a verifier goes by must not be in the model's hand: such a variable may not
 * be written by the model, nor be derived from what an agent says or declares, directly or through others.
 */
export function checkGuardedVariables(
  guards: readonly DocumentNode[],
  what: string,
  variables: readonly DeclaredVariable[],
): readonly Issue[] {
  return checkGuards(guards, what, modelControlled(variables));
}

/** As `checkGuardedVariables`, by the names that are in the model's hand, each with the reason. */
export function checkGuards(
  guards: readonly DocumentNode[],
  what: string,
  controlled: ReadonlyMap<string, string>,
): readonly Issue[] {
  return guards.flatMap((guard) =>
    [...textsUnder(guard)].flatMap(([text, place]) =>
      [...new Set(namesIn(text, place))].flatMap((name) => {
        const why = controlled.get(name);
        if (why === undefined) return [];
        const message = `The variable "${name}" is used by ${what}, and ${why}.`;
        const hint = 'Add "writers: [workflow, user]" to it, or use another variable.';
        return [errorAt(place, 'model_controlled', message, { hint })];
      }),
    ),
  );
}

function namesIn(text: string, place: DocumentNode): readonly string[] {
  return CEL_KEYS.includes(place.path.at(-1)) ? variablesRead(text) : variablesMentioned(text);
}

/** The variables in the model's hand, each with the reason: those it writes, then all that are derived from them. */
function modelControlled(variables: readonly DeclaredVariable[]): ReadonlyMap<string, string> {
  const why = new Map<string, string>();
  const readers = new Map<string, string[]>();
  for (const variable of variables) {
    const direct = directControl(variable);
    if (direct !== undefined) why.set(variable.name, direct);
    for (const read of variablesRead(variable.node.at('expression').text() ?? ''))
      readers.set(read, [...(readers.get(read) ?? []), variable.name]);
  }
  const waiting = [...why.keys()];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    for (const reader of readers.get(name) ?? []) {
      if (why.has(reader)) continue;
      why.set(reader, `it is derived from "${name}": ${why.get(name)?.split('": ').at(-1)}`);
      waiting.push(reader);
    }
  }
  return why;
}

/** Events whose contents are a model's own words. */
const OF_A_MODEL =
  /^(?:child\.)?(?:thought|text|response|model\.output|action\.declared|metadata\.changed|metadata\.rejected|variable\.changed)$/;

/** Types of triggers that an event brings about, and the key that names it. */
const BEGINS: ReadonlyMap<string, string> = new Map([
  ['event', 'event'],
  ['timer_expired', 'since'],
]);

function directControl({ node, class: kind }: DeclaredVariable): string | undefined {
  if (kind !== 'derived') {
    const writers = node.at('writers').value;
    if (writers === undefined) return 'the model may write it, because it has no "writers"';
    return Array.isArray(writers) && writers.includes('model') ? 'the model may write it' : undefined;
  }
  const types = triggersOf(node).map((trigger) => trigger.at('type').text());
  if (types.includes('agent_text')) return "it is derived from an agent's text";
  const said = triggersOf(node)
    .map((trigger) => trigger.at(BEGINS.get(trigger.at('type').text() ?? '') ?? '').text() ?? '')
    .find((event) => OF_A_MODEL.test(event));
  if (said !== undefined) return `it is derived from the event ${said}, which a model can cause`;
  const readsMetadata = variablesRead(node.at('expression').text() ?? '').includes('metadata');
  return types.includes('metadata_match') || readsMetadata
    ? 'it is derived from metadata, which the model declares'
    : undefined;
}
