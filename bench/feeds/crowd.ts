import { loadAgent, type Runtime } from '../../telltale/src/index.ts';
import type { Model, ModelMessage } from '../../telltale/src/models/model.ts';
import { answer, PROMPT, stepScript } from '../agents/scenario.ts';
import { openAction, writeAgent } from '../agents/write-agent.ts';
import type { FeedMix } from './feed-mix.ts';

/** Sessions of one agent, all held by their model at the same turn until they are let go on. */
export interface Crowd {
  /** Every session makes so many turns: a step with one tool each. Microseconds of CPU time a turn, all threads. */
  advance(turns: number): Promise<number>;
  /** Throws unless the last turn of every session showed what the mix says. */
  check(): void;
  /** Ends all sessions. */
  close(): Promise<void>;
}

interface CrowdOptions {
  readonly runtime: Runtime;
  readonly folder: string;
  readonly sessions: number;
  /** Done in each turn of each session. */
  readonly extra?: (() => void) | undefined;
}

const script = stepScript(Number.POSITIVE_INFINITY);
const FIELDS = 'metadata: { fields: { mode: { type: string, default: idle }, step: { type: number } } }\n';

/** Starts the sessions, up to their first request. */
export async function openCrowd(mix: FeedMix, options: CrowdOptions): Promise<Crowd> {
  const { runtime, folder, sessions, extra } = options;
  const feeds = mix.feeds.length === 0 ? '' : `context_feeds:\n  - ${mix.feeds.join('\n  - ')}\n`;
  const agent = await writeAgent(folder, true, answer, loadAgent, 'tags', FIELDS + feeds);
  let allowed = 0;
  let isOver = false;
  let waiting: (() => void)[] = [];
  let arrived: () => void = () => {};
  const lastMessages: string[] = [];

  const say = (turn: number) => {
    const { said, call } = script(turn - 1);
    const metadata = mix.metadata ? `<metadata>{"step":${turn}}</metadata>\n` : '';
    return `<thought>${said.join('')}</thought>\n${metadata}${openAction(call?.id ?? '', call?.query ?? '')}</action>\n`;
  };
  const hold = ({ text }: ModelMessage) =>
    new Promise<void>((resolve) => {
      lastMessages.push(text);
      waiting.push(resolve);
      if (waiting.length === sessions) arrived();
    });
  const model: Model = {
    id: 'fake',
    async stream({ turn, messages }, sink) {
      if (turn > allowed && !isOver) await hold(messages.at(-1)!);
      extra?.();
      sink.text(isOver ? '<response>Done.</response>' : say(turn));
      return { finish: 'stop', usage: { input: 10, output: 10 } };
    },
  };
  const all = () =>
    new Promise<void>((resolve) => {
      arrived = resolve;
    });
  const letGo = () => {
    const held = waiting;
    waiting = [];
    lastMessages.length = 0;
    for (const go of held) go();
  };
  const shows = (count: number) => {
    const wrong = lastMessages.map(blocksOf).find((blocks) => blocks !== count);
    if (wrong !== undefined || lastMessages.length !== sessions)
      throw new Error(
        `${mix.name}: ${wrong ?? 'no'} blocks of feeds in a turn of ${lastMessages.length} sessions, not ${count} of ${sessions}.`,
      );
  };

  const first = all();
  const running = Array.from({ length: sessions }, () => runtime.start(agent, { input: PROMPT, model }));
  const ended = Promise.all(
    running.map(async ({ result }) => {
      const { status, error } = await result;
      if (status !== 'completed')
        throw new Error(`${mix.name}: a session ended as ${status}: ${error?.message}`);
    }),
  );
  ended.catch(() => {}); // heard below
  await Promise.race([first, ended]);
  shows(mix.shown.first);

  return {
    async advance(turns) {
      const there = all();
      const cpu = process.cpuUsage();
      allowed += turns;
      letGo();
      await Promise.race([there, ended]);
      const { user, system } = process.cpuUsage(cpu);
      return (user + system) / (turns * sessions);
    },
    check: () => shows(mix.shown.later),
    async close() {
      isOver = true;
      letGo();
      await ended;
    },
  };
}

const blocksOf = (text: string): number => text.split('<context_feed ').length - 1;
