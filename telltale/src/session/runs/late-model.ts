import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Model } from '../../models/model.ts';
import { agentCode } from '../define/agent-code.ts';
import type { LoadedAgent } from '../loaded-agent.ts';

/** Models of agents that are opened when they are first asked; one for each agent, so that what is prepared is found again. */
export function createLateModels(
  open: (ref: string, folder: string) => Promise<Model>,
): (agent: LoadedAgent<unknown>) => Model {
  const known = new WeakMap<LoadedAgent<unknown>, Model>();
  return (agent) => {
    const before = known.get(agent);
    if (before !== undefined) return before;
    const model = lateModel(agent, open);
    known.set(agent, model);
    return model;
  };
}

function lateModel(
  agent: LoadedAgent<unknown>,
  open: (ref: string, folder: string) => Promise<Model>,
): Model {
  const { manifest, folder } = agent;
  const { model: ref, name } = manifest;
  let opened: Model | undefined;
  return {
    id: ref ?? 'none',
    get price() {
      return opened?.price ?? FREE;
    },
    async stream(request, sink) {
      if (ref === undefined) throw noModel(name);
      opened ??= agentCode(agent)?.models.get(ref) ?? (await open(manifest.models[ref] ?? ref, folder));
      return opened.stream(request, sink);
    },
  };
}

/** What nobody has asked cost nothing. */
const FREE = { input: 0, output: 0 };

const noModel = (agent: string) =>
  new RuntimeError('no_model', `The agent "${agent}" has no model.`, {
    hint: 'Write "model: provider/model" or "model: scripted:FILE" into its manifest.',
  });
