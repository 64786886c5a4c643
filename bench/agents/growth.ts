import { join } from 'node:path';
import type { LoadedAgent } from '../../telltale/src/agent/loaded-agent.ts';
import { createRuntime, loadAgent } from '../../telltale/src/index.ts';
import type { Model } from '../../telltale/src/models/model.ts';
import { answer, PROMPT, stepScript } from './scenario.ts';
import { openAction, writeAgent } from './write-agent.ts';

/** What the turns of one stretch of a long session cost. */
export interface Stretch {
  /** The last turn of it. */
  readonly turn: number;
  /** Microseconds of CPU time a turn, all threads. */
  readonly cpuUs: number;
  readonly heapMb: number;
}

/** Taking a session over, from the call to the next request to the model. */
export interface Recovery {
  readonly turns: number;
  readonly events: number;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** Turns of a sample. The dearest fifth of a stretch's samples is what neighbours on the machine did. */
const SAMPLE_TURNS = 25;
const TRIMMED = 0.2;

export function trimmedMean(values: readonly number[]): number {
  const kept = [...values]
    .sort((a, b) => a - b)
    .slice(0, Math.max(1, Math.round(values.length * (1 - TRIMMED))));
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}

const say = (turn: number) => {
  const { said, call } = stepScript(Number.POSITIVE_INFINITY)(turn - 1);
  return `<thought>${said.join('')}</thought>\n${openAction(call?.id ?? '', call?.query ?? '')}</action>\n`;
};

/** One session of `turns` steps, its cost a stretch. `extra` is work done once for each turn so far (a handicap). */
export async function measureStretches(
  folder: string,
  turns: number,
  stretch: number,
  extra: (turn: number) => void,
): Promise<readonly Stretch[]> {
  const agent = await writeAgent(folder, true, answer, loadAgent);
  const runtime = await openRuntime(folder);
  const stretches: Stretch[] = [];
  let samples: number[] = [];
  let cpu = process.cpuUsage();
  const model: Model = {
    id: 'fake',
    async stream({ turn }, sink) {
      if (turn > 1 && (turn - 1) % SAMPLE_TURNS === 0) {
        const { user, system } = process.cpuUsage(cpu);
        samples.push((user + system) / SAMPLE_TURNS);
        cpu = process.cpuUsage();
      }
      if (turn > 1 && (turn - 1) % stretch === 0) {
        const heapMb = process.memoryUsage().heapUsed / 1e6;
        stretches.push({ turn: turn - 1, cpuUs: trimmedMean(samples), heapMb });
        samples = [];
      }
      extra(turn);
      sink.text(turn > turns ? '<response>Done.</response>' : say(turn));
      return { finish: 'stop', usage: { input: 10, output: 10 } };
    },
  };
  const { status, error } = await runtime.start(agent, { input: PROMPT, model }).result;
  await runtime.close();
  if (status !== 'completed') throw new Error(`The session ended as ${status}: ${error?.message}`);
  return stretches;
}

/** Lets a session go after `turns` steps, and takes it over again, `times` times. */
export async function measureRecovery(folder: string, turns: number, times: number): Promise<Recovery[]> {
  const agent = await writeAgent(folder, true, answer, loadAgent);
  const id = await letGoAfter(folder, agent, turns);
  const taken: Recovery[] = [];
  for (let time = 0; time < times; time += 1) {
    const runtime = await openRuntime(folder);
    const events = (await runtime.events(id)).length;
    const [wall, cpu] = [performance.now(), process.cpuUsage()];
    await untilAsked((model) => runtime.resume(id, { agent, model }));
    const { user, system } = process.cpuUsage(cpu);
    taken.push({ turns, events, cpuMs: (user + system) / 1000, wallMs: performance.now() - wall });
    await runtime.close();
  }
  return taken;
}

async function letGoAfter(folder: string, agent: LoadedAgent, turns: number): Promise<string> {
  const runtime = await openRuntime(folder);
  let asked: () => void = () => {};
  const there = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const model: Model = {
    id: 'fake',
    async stream({ turn, signal }, sink) {
      if (turn > turns) {
        asked();
        return untilAborted(signal);
      }
      sink.text(say(turn));
      return { finish: 'stop', usage: { input: 10, output: 10 } };
    },
  };
  const session = runtime.start(agent, { input: PROMPT, model });
  await Promise.race([there, session.result]);
  await session.interrupt();
  await runtime.close();
  return session.id;
}

/** Resolves when the session that `begin` begins asks the model for the first time; the model then never answers. */
async function untilAsked(begin: (model: Model) => Promise<unknown>): Promise<void> {
  let asked: () => void = () => {};
  const there = new Promise<void>((resolve) => {
    asked = resolve;
  });
  await begin({
    id: 'fake',
    stream({ signal }) {
      asked();
      return untilAborted(signal);
    },
  });
  await there;
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });

/** `process`: what a turn costs is not the disk's business here. */
const openRuntime = (folder: string) =>
  createRuntime({ store: `sqlite:${join(folder, 'log.db')}`, durability: 'process', cwd: folder });
