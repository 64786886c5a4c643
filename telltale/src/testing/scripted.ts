import type { Model } from '../models/model.ts';
import type { ScriptTurn } from '../models/scripted/script.ts';
import { createScriptedModel, type ScriptedModelOptions } from '../models/scripted/scripted-model.ts';

/** A model that says what it is told to say, and keeps what it was asked. */
export interface ScriptedModel extends Model {
  /** The last message of each request, in order: what a prompt added to the conversation. */
  readonly prompts: readonly string[];
}

/** Turn N of a session says entry N, whichever process asks; a turn that is asked for and not there fails the session. */
export const scripted = (
  turns: readonly (string | ScriptTurn)[],
  options: Omit<ScriptedModelOptions, 'turns'> = {},
): ScriptedModel => keepPrompts(createScriptedModel({ ...options, turns }));

/** The same model, which keeps what it was asked. */
export function keepPrompts(model: Model): ScriptedModel {
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
