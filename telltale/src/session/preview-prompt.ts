import { type CountedOpening, promptParts } from '../prompt/prompt-parts.ts';
import { environmentOf } from './first-event.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { requestOptionsOf } from './request-options.ts';
import type { RuntimeDeps } from './runtime-edges.ts';
import type { PromptPreviewOptions } from './runtime-types.ts';

/** Stands for the key that a session with `protocol.seal` makes when it begins. */
const SAMPLE_SEAL = 'KEY-OF-SESSION';

/** What a session of an agent that began now would be sent before its first message. Nothing is run or kept. */
export async function previewPrompt(
  { shelf, clock, tokenizer, env }: RuntimeDeps,
  agent: LoadedAgent<unknown>,
  { led }: PromptPreviewOptions,
): Promise<CountedOpening> {
  const { manifest, folder } = agent;
  const prepared = await shelf.look(agent);
  try {
    const face = prepared.face(led ?? manifest.workflow !== null);
    const opening = face.opening({
      environment: environmentOf(clock, folder),
      ...(manifest.protocol.seal ? { seal: SAMPLE_SEAL } : {}),
    });
    const { count } = await tokenizer();
    const model =
      manifest.model === undefined ? undefined : (manifest.models[manifest.model] ?? manifest.model);
    const request = await requestOptionsOf(model, face, { env, clock });
    return { ...promptParts(opening, count), ...(request === undefined ? {} : { request }) };
  } finally {
    shelf.release(prepared);
  }
}
