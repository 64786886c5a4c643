import type { Clock } from '../../kernel/clock.ts';
import type { Model } from '../../models/model.ts';
import { loadScript } from '../../models/scripted/load-script.ts';
import { createScriptedModel } from '../../models/scripted/scripted-model.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';

const SCRIPTED = 'scripted:';

/** The scripted model of an agent at another pace; without one everything comes at once. */
export async function pacedModel(
  { manifest, folder }: Pick<LoadedAgent, 'manifest' | 'folder'>,
  tokensPerSecond: number | undefined,
  clock: Clock,
): Promise<Model> {
  const id = manifest.model ?? SCRIPTED;
  const { turns, tokensPerSecond: _, ...script } = await loadScript(id.slice(SCRIPTED.length), folder);
  return createScriptedModel({
    ...script,
    turns: turns.map(({ tokensPerSecond: _, ...turn }) => turn),
    ...(tokensPerSecond === undefined ? {} : { tokensPerSecond }),
    id,
    clock,
  });
}
