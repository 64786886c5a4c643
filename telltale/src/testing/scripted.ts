import type { Model } from '../models/model.ts';
import type { ScriptTurn } from '../models/scripted/script.ts';
import { createScriptedModel, type ScriptedModelOptions } from '../models/scripted/scripted-model.ts';

/** A model that keeps what it was asked. */
export interface HeardModel extends Model {
  /** The last message of each request, in order: what a prompt added to the conversation. */
  readonly prompts: readonly string[];
}

/** A model that says what it is told: turn N of a session says entry N. One turn more than there are fails the session. */
export function scripted(
  turns: readonly (string | ScriptTurn)[],
  options: Omit<ScriptedModelOptions, 'turns'> = {},
): HeardModel {
  return hear(createScriptedModel({ ...options, turns }));
}

/** The same model, with its prompts. */
export function hear(model: Model): HeardModel {
  const prompts: string[] = [];
  return {
    ...model,
    prompts,
    stream(request, sink) {
      prompts.push(request.messages.at(-1)?.text ?? '');
      return model.stream(request, sink);
    },
  };
}
