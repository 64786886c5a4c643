import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Model } from '../../models/model.ts';
import { openModel } from '../../models/open-model.ts';
import type { LoadedAgent } from '../../session/loaded-agent.ts';
import type { Io } from '../io.ts';

/**
 * The model of a chat whose model is a script: it answers with what is wrong once it has no more turns, so that the chat
 * goes on until its user ends it. Empty for other models, and where plain text cannot be the answer.
 */
export async function chatModel(
  { manifest, folder }: LoadedAgent,
  chosen: string | undefined,
  { env, clock }: Pick<Io, 'env' | 'clock'>,
): Promise<{ readonly model?: Model }> {
  const named = chosen ?? manifest.model ?? '';
  const ref = manifest.models[named] ?? named;
  if (!ref.startsWith('scripted:') || manifest.dialect === 'step' || manifest.output !== undefined) return {};
  const script = await openModel(ref, { env, folder, clock });
  const model: Model = {
    ...script,
    async stream(request, sink) {
      try {
        return await script.stream(request, sink);
      } catch (thrown) {
        if (!(thrown instanceof RuntimeError) || thrown.code !== 'script_ended') throw thrown;
        sink.text(`${thrown.message} ${thrown.hint}`.slice(request.said ?? 0));
        return { finish: 'stop' };
      }
    },
  };
  return { model };
}
