import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Model } from '../../models/model.ts';
import type { TargetCall } from '../target.ts';
import { askModel, noModel } from './ask-model.ts';
import { modelOf } from './asked-model.ts';

export interface TextQuestion {
  /** For messages: `step "review"`. */
  readonly what: string;
  readonly message: string;
  /** A name of the agent's `models`, or a model by itself; the agent's own if absent. */
  readonly model?: string | undefined;
  /** Which request of several for the same it is, from 1 on: a scripted model answers with that turn. */
  readonly turn?: number;
}

/** Asks one of an agent's models once, without a prompt of the manifest. What it used is charged to the call. */
export type AskText = (question: TextQuestion, call: TargetCall) => Promise<string>;

export const createAskText =
  (agent: Pick<AgentManifest, 'model' | 'models'>, openModel: (ref: string) => Promise<Model>): AskText =>
  async ({ what, message, model: named, turn }, call) => {
    const model = modelOf(agent, named);
    if (model === undefined) throw noModel(what);
    return askModel(await openModel(model), { what, system: '', message, turn }, call);
  };
