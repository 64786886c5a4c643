import { deepEqual } from '../../conditions/deep-equal.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { clip } from '../../prompt/cut-text.ts';
import type { SessionContext } from '../context.ts';

const MAX_NAME_QUOTED = 100;

/** Sets the variables that a step names: runtime ones that the model may write. `null` puts the default back. */
export function setVariables({ manifest, state, log }: SessionContext, updates: JsonObject): void {
  const declared = manifest.context_variables.runtime;
  const fault = (message: string) => log.append({ type: 'fault', code: 'bad_variable', message });
  for (const [name, sent] of Object.entries(updates)) {
    const variable = declared.find((each) => each.name === name);
    if (variable === undefined || !variable.writers.includes('model')) {
      const known = declared.flatMap((each) => (each.writers.includes('model') ? [each.name] : []));
      const why = variable === undefined ? 'is no runtime variable' : 'is not for you to set';
      fault(
        `"${clip(name, MAX_NAME_QUOTED)}" of "context_updates" ${why}, so it was not set. ${suggest(name, known, 'You may set')}`,
      );
      continue;
    }
    const to = sent ?? variable.default ?? null;
    if (sent !== null && variable.type !== 'any' && typeOf(to) !== variable.type) {
      fault(`"${name}" of "context_updates" must be of type ${variable.type}, so it was not set.`);
      continue;
    }
    const from = state.variables.get(name)?.value ?? null;
    if (!deepEqual(from, to))
      log.append({ type: 'variable.changed', name, class: 'runtime', from, to, by: 'model' });
  }
}

const typeOf = (value: Json): string => (Array.isArray(value) ? 'array' : typeof value);
