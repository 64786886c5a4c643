import type { Issue } from '../../issue.ts';
import { variablesMentioned, variablesRead } from './check-names.ts';
import type { DeclaredVariable } from './check-variables.ts';
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

/**
 * What a permission, an approval or a verifier goes by must not be in the model's hand: such a variable may not
 * be written by the model, nor be derived from what an agent says or declares, directly or through others.
 */
export function checkGuardedVariables(
  guards: readonly DocumentNode[],
  what: string,
  variables: readonly DeclaredVariable[],
): readonly Issue[] {
  const byName = new Map(variables.map((variable) => [variable.name, variable]));
  return guards.flatMap((guard) =>
    [...textsUnder(guard)].flatMap(([text, place]) =>
      [...new Set(namesIn(text, place))].flatMap((name) => {
        const why = modelControls(name, byName, new Set());
        if (why === undefined) return [];
        const message = `The variable "${name}" is used by ${what}, and ${why}.`;
        return [
          errorAt(place, 'model_controlled', message, {
            hint: 'Give it "writers: [workflow, user]", or use another variable.',
          }),
        ];
      }),
    ),
  );
}

function namesIn(text: string, place: DocumentNode): readonly string[] {
  return CEL_KEYS.includes(place.path.at(-1)) ? variablesRead(text) : variablesMentioned(text);
}

function modelControls(
  name: string,
  byName: ReadonlyMap<string, DeclaredVariable>,
  seen: Set<string>,
): string | undefined {
  const variable = byName.get(name);
  if (variable === undefined || seen.has(name)) return undefined;
  seen.add(name);
  if (variable.class !== 'derived') {
    const writers = variable.node.at('writers').value;
    if (writers !== undefined && !(Array.isArray(writers) && writers.includes('model'))) return undefined;
    return writers === undefined
      ? 'the model may write it, since it has no "writers"'
      : 'the model may write it';
  }
  const triggers = [...variable.node.at('triggers').items(), ...variable.node.at('reset_on').items()];
  const types = triggers.map((trigger) => trigger.at('type').text());
  if (types.includes('agent_text')) return "it is derived from an agent's text";
  if (types.includes('metadata_match')) return 'it is derived from metadata, which the model declares';
  for (const read of variablesRead(variable.node.at('expression').text() ?? '')) {
    if (read === 'metadata') return 'it is derived from metadata, which the model declares';
    const why = modelControls(read, byName, seen);
    if (why !== undefined) return `it is derived from "${read}": ${why}`;
  }
  return undefined;
}
