import type { Json, JsonObject } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { clip } from '../../prompt/cut-text.ts';
import type { SessionContext } from '../context.ts';
import { settableBy, setVariable } from '../variables/variable-writer.ts';

const MAX_NAME_QUOTED = 100;

/** Sets the variables that a step names: those that the model may write. `null` puts the default back. */
export function setVariables({ log, deps }: SessionContext, updates: JsonObject): void {
  const { variables } = deps;
  for (const [name, sent] of Object.entries(updates)) {
    try {
      if (sent === null) {
        const byDefault = (settableBy(variables.manifest, name, 'model').default ?? null) as Json;
        setVariable(variables, name, byDefault, 'model', { resets: true });
      } else setVariable(variables, name, sent, 'model');
    } catch (thrown) {
      const { message, hint } = toRuntimeError(thrown);
      log.append({
        type: 'fault',
        code: 'bad_variable',
        message: `"${clip(name, MAX_NAME_QUOTED)}" of "context_updates" was not set. ${message}${hint === undefined ? '' : ` ${hint}`}`,
      });
    }
  }
}
