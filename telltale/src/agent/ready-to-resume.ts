import { RuntimeError } from '../lib/errors.ts';
import type { SessionState } from '../log/state.ts';
import { isModelRef } from '../manifest/schema/model-ref.ts';
import type { Begin } from './children/child-session.ts';
import { agentCode, agentInCode } from './define/agent-code.ts';
import { type LoadAgentOptions, loadAgent } from './load-agent.ts';
import type { LoadedAgent } from './loaded-agent.ts';
import { readSession, sessionEmpty } from './read-session.ts';
import type { RuntimeDeps } from './runtime-deps.ts';
import type { ResumeOptions } from './runtime-types.ts';

/** What a session goes on with: its own agent and model, unless others are given. Throws where it may not go on. */
export async function readyToResume<Output>(
  { store, env, cwd }: Pick<RuntimeDeps, 'store' | 'env' | 'cwd'>,
  id: string,
  resume: ResumeOptions<Output>,
): Promise<Begin> {
  const { signal } = resume;
  const state = await readSession(store, id, undefined, signal);
  if (state.seq === 0) throw sessionEmpty(id);
  if (state.parent !== undefined) throw sessionOfAgent(id, state.parent.session);
  const agent = resume.agent ?? (await loadAgain(state, { env, cwd, ...(signal && { signal }) }));
  if (agent.hash !== state.manifest.hash && resume.acceptChanges !== true)
    throw manifestChanged(id, state.manifest);
  const model = resume.model ?? startedWith(state, agent);
  return { kind: 'resume', id, agent, resume: model === undefined ? resume : { ...resume, model } };
}

/** The agent of a session, read again from where it was read. */
export function loadAgain(
  { id, agent, manifest }: SessionState,
  options: LoadAgentOptions,
  codeHint?: string,
): Promise<LoadedAgent> {
  if (manifest.code === true) throw agentInCode(id, manifest.path, codeHint);
  return loadAgent(manifest.path, { ...options, name: agent });
}

/** The model a session was started with, where it was another than the agent's own. */
function startedWith({ model }: SessionState, agent: LoadedAgent<unknown>): string | undefined {
  const ownModels = [...(agentCode(agent)?.models.values() ?? [])];
  const isOwn = model === agent.manifest.model || ownModels.some(({ id }) => id === model);
  return !isOwn && isModelRef(model) ? model : undefined;
}

const sessionOfAgent = (session: string, parent: string) =>
  new RuntimeError('session_has_parent', `${session} is a sub-agent's session: ${parent} works on it.`, {
    hint: `Resume that one: telltale resume ${parent}. Or make it a session of its own: telltale fork ${session} SEQ`,
  });

const manifestChanged = (session: string, { path, code }: SessionState['manifest']) =>
  new RuntimeError('manifest_changed', `The manifest ${path} is not the one that ${session} started with.`, {
    hint: `Restore it, start a new session, or accept the changes: ${
      code === true
        ? 'runtime.resume(id, { agent, acceptChanges: true }).'
        : `telltale resume ${session} --accept-changes`
    }`,
  });
