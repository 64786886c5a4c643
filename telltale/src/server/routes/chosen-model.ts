import type { ModelChoice } from '../../client/api.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isModelRef } from '../../manifest/schema/model-ref.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import { modelsWithKeys } from '../../session/models-with-keys.ts';
import type { ServerDeps } from '../server-edges.ts';

type Agent = LoadedAgent<unknown> | undefined;

const SCRIPTED = 'scripted:';

/**
 * The model that a client asks for: a name of the agent's `models`, or `provider/model`. A script is a file of the server:
 * only the manifest says which.
 */
export function chosenModel(asked: string, agent: Agent): string {
  const { model, models = {} } = agent?.manifest ?? {};
  const named = Object.hasOwn(models, asked) ? models[asked] : undefined;
  if (named !== undefined) return named;
  const isOwn = asked === model || Object.values(models).includes(asked);
  if (isOwn || (isModelRef(asked) && !asked.startsWith(SCRIPTED))) return asked;
  throw notChosen(asked, Object.keys(models));
}

/** What a person may choose from: what the manifest names, then what the providers have whose keys are set. */
export function modelChoices(agent: Agent, env: ServerDeps['env'] = {}): readonly ModelChoice[] {
  const own = Object.keys(agent?.manifest.models ?? {}).map(
    (name): ModelChoice => ({ model: name, from: 'agent' }),
  );
  const provided = modelsWithKeys(env).map((model): ModelChoice => ({ model, from: 'provider' }));
  return [...own, ...provided];
}

const notChosen = (asked: string, known: readonly string[]) =>
  new RuntimeError('bad_option', `"${asked.slice(0, 200)}" is no model that can be chosen here.`, {
    hint:
      known.length === 0
        ? 'Write provider/model (anthropic/claude-sonnet-4-5).'
        : `Write provider/model, or a name of the agent's "models". ${suggest(asked, known, 'Names')}`,
  });
