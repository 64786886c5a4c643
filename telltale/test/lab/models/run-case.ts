import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createOpenAI } from '@ai-sdk/openai';
import { defineAgent } from '../../../src/agent/define/define-agent.ts';
import type { Session, SessionResult } from '../../../src/agent/runtime-types.ts';
import { createRuntime } from '../../../src/index.ts';
import type { SessionEvent } from '../../../src/log/event.ts';
import type { ModelObject } from '../../../src/models/model-object.ts';
import { checkRequest } from '../../wire/check-request.ts';
import { type LabCase, nonceOf } from './lab-case.ts';
import { type Moment, mistakeOf, type Spoilt } from './mistakes.ts';
import type { Dialect, Move } from './move.ts';
import { speak } from './speak.ts';
import { type Answer, type ProviderHost, WIRES } from './stand-in.ts';
import type { Task } from './task.ts';
import { TASKS } from './tasks/tasks.ts';
import { type Alias, type View, viewOf } from './view.ts';
import type { Heard, ProviderName } from './words.ts';

/** One turn as it went over the wire. */
export interface Spoken {
  readonly body: unknown;
  readonly view: View;
  /** What a faultless model would have done. */
  readonly faultless: Move;
  /** What was said. */
  readonly move: Move;
  readonly made: readonly { readonly mistake: string; readonly spoilt: Spoilt }[];
}

export interface CaseRun {
  readonly task: Task;
  readonly result: SessionResult<unknown>;
  readonly answers: readonly string[];
  readonly files: Readonly<Record<string, string>>;
  readonly events: readonly SessionEvent[];
  readonly spoken: readonly Spoken[];
  /** What a provider would have refused, by the rules of its wire format. */
  readonly problems: readonly string[];
  readonly folder: string;
}

const WALL = '40s';
const MAX_TURNS = 24;
/** What the simulated models can read, in characters and about 32,000 tokens. */
const WINDOW_CHARS = 128_000;
const CHARS_PER_TOKEN = 4;

export const taskOf = (name: string, seed: number): Task => {
  const kind = TASKS.find((each) => each.name === name);
  if (kind === undefined)
    throw new Error(`There is no task "${name}": ${TASKS.map((each) => each.name).join(', ')}.`);
  return kind.make(nonceOf(seed));
};

/** Runs one task with one simulated model. Leaves its folder behind: see `forget`. */
export async function runCase(labCase: LabCase, host: ProviderHost): Promise<CaseRun> {
  const task = taskOf(labCase.task, labCase.seed);
  const wire = WIRES[labCase.provider];
  const folder = mkdtempSync(join(tmpdir(), 'telltale-model-lab-'));
  const workspace = join(folder, 'workspace');
  for (const [name, text] of Object.entries(task.files)) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true });
    writeFileSync(join(workspace, name), text);
  }
  const stand = new StandIn(labCase, task);
  const { url, close } = host.open(wire, (heard, body) => stand.answer(heard, body));
  const { model, env } = askedAt(labCase.provider, url);
  const { workflow, conversation } = task;
  const agent = await defineAgent(
    {
      name: 'worker',
      model,
      dialect: labCase.dialect,
      limits: { turns: MAX_TURNS, wall: WALL },
      ...task.agent,
      ...(workflow === undefined ? {} : { workflows: [workflow] }),
    },
    { folder: workspace },
  );
  const runtime = await createRuntime({ store: 'memory', cwd: workspace, env });
  try {
    const session = runtime.start(agent, { input: task.input, chat: conversation !== undefined });
    const answers: string[] = [];
    if (conversation !== undefined) {
      stand.steer = () => session.steer(conversation.steer.text);
      converse(session, conversation, stand, answers);
    }
    const result = await session.result;
    const events = await runtime.events(session.id);
    if (conversation === undefined && typeof result.result === 'string') answers.push(result.result);
    if (stand.failure !== undefined) throw stand.failure;
    const { spoken, problems } = stand;
    return { task, result, answers, files: filesIn(workspace), events, spoken, problems, folder };
  } finally {
    close();
    await runtime.close();
  }
}

export const forget = ({ folder }: Pick<CaseRun, 'folder'>): void =>
  rmSync(folder, { recursive: true, force: true });

/** How the agent of a case names its model, and the environment that leads it here. */
function askedAt(
  provider: ProviderName,
  url: string,
): { readonly model: string | ModelObject; readonly env: Record<string, string> } {
  switch (provider) {
    case 'openai-chat':
      return { model: 'openai/gpt-4o', env: { OPENAI_API_KEY: 'sk-lab', OPENAI_BASE_URL: url } };
    case 'openai-responses': {
      // A gateway is asked for chat completions, so that OpenAI's own format takes a model of the AI SDK.
      const model = createOpenAI({ baseURL: url, apiKey: 'sk-lab' }).responses('gpt-4o');
      return { model, env: {} };
    }
    case 'anthropic':
      return {
        model: 'anthropic/claude-sonnet-4-5',
        env: { ANTHROPIC_API_KEY: 'sk-lab', ANTHROPIC_BASE_URL: url },
      };
    case 'google':
      return {
        model: 'google/gemini-2.5-flash',
        env: { GOOGLE_GENERATIVE_AI_API_KEY: 'sk-lab', GOOGLE_GENERATIVE_AI_BASE_URL: url },
      };
  }
}

/** Plays the user of a conversation: the steer has been read, and the answer to it is there, before the next message. */
function converse(
  session: Session<unknown>,
  { next }: NonNullable<Task['conversation']>,
  stand: StandIn,
  answers: string[],
): void {
  let isSteerRead = false;
  let answer = '';
  session.subscribe((event) => {
    if (event.type === 'message.received' && event.from === 'steer') isSteerRead = true;
    if (event.type === 'response' && event.final) answer = event.text;
    if (event.type !== 'session.waiting') return;
    if (!isSteerRead) {
      void stand.interrupt();
      return;
    }
    answers.push(answer);
    if (answers.length === 1) void session.say(next);
    else session.finish();
  });
}

/** The model's stand-in: a policy, and the mistakes of its case. */
class StandIn {
  readonly spoken: Spoken[] = [];
  readonly problems: string[] = [];
  steer: (() => Promise<void>) | undefined;
  /** What went wrong in here, which is no fault of the runtime. */
  failure: unknown;
  readonly #case: LabCase;
  readonly #task: Task;
  readonly #dialect: Dialect;
  #aliases: readonly Alias[] = [];
  /** Mistakes that are still to be made. */
  #left: LabCase['mistakes'];
  #refused = false;
  /** What the last mistake makes of the coming turn. */
  #next: Spoilt['next'];

  constructor(labCase: LabCase, task: Task) {
    this.#case = labCase;
    this.#task = task;
    this.#dialect = labCase.dialect;
    this.#left = labCase.mistakes;
  }

  /** Once: the user interrupts. */
  async interrupt(): Promise<void> {
    const { steer } = this;
    this.steer = undefined;
    await steer?.();
  }

  async answer(heard: Heard, body: unknown): Promise<Answer> {
    try {
      return await this.#answer(heard, body);
    } catch (thrown) {
      this.failure ??= thrown;
      throw thrown;
    }
  }

  async #answer(heard: Heard, body: unknown): Promise<Answer> {
    for (const problem of checkRequest(this.#case.provider, body)) this.problems.push(problem);
    const size = JSON.stringify(body).length;
    if (size > WINDOW_CHARS) return { refuse: 'context_exceeded' };
    const input = Math.ceil(size / CHARS_PER_TOKEN);
    if (!heard.system.includes(this.#task.agent.instructions ?? '')) return summaryOf(heard, input);
    const turn = this.spoken.length + 1;
    const view = viewOf(heard, this.#aliases);
    const faultless = this.#task.policy(view);
    let move = this.#next?.(view) ?? faultless;
    const made: { mistake: string; spoilt: Spoilt }[] = [];
    let refusal: Spoilt['refuse'];
    const moment: Moment = {
      dialect: this.#dialect,
      wire: WIRES[this.#case.provider],
      task: this.#task,
      view,
      turn,
    };
    const left = [];
    for (const planned of this.#left) {
      const spoilt = planned.turn > turn ? undefined : mistakeOf(planned.mistake)?.make(move, moment);
      if (spoilt === undefined) {
        left.push(planned);
        continue;
      }
      move = spoilt.move;
      refusal = spoilt.refuse ?? refusal;
      made.push({ mistake: planned.mistake, spoilt });
    }
    if (refusal !== undefined && !this.#refused) {
      this.#refused = true; // the same mistakes are made again when the request comes again
      return { refuse: refusal };
    }
    this.#refused = false;
    this.#left = left;
    this.#next = made.find(({ spoilt }) => spoilt.next !== undefined)?.spoilt.next;
    this.#aliases = [...this.#aliases, ...made.flatMap(({ spoilt }) => spoilt.aliases ?? [])];
    this.spoken.push({ body, view, faultless, move, made });
    if (turn >= (this.#task.conversation?.steer.atRequest ?? Number.POSITIVE_INFINITY))
      await this.interrupt();
    const say = speak(move, { dialect: this.#dialect, turn });
    const length = say.parts.reduce(
      (sum, part) => sum + (part.type === 'text' ? part.text.length : part.call.input.length),
      0,
    );
    return { say, usage: { input, output: Math.ceil(length / CHARS_PER_TOKEN) } };
  }
}

/** A summary by a model that knows what matters: every line with a fact in it. */
function summaryOf(heard: Heard, input: number): Answer {
  const lines = heard.messages
    .flatMap(({ text }) => text.split(/\n|\\n/))
    .filter((line) => line.length < MAX_LINE && FACT.test(line));
  const text = `What the agent has learnt so far:\n${[...new Set(lines)].join('\n').slice(-MAX_SUMMARY)}`;
  return {
    say: { parts: [{ type: 'text', text }], finish: 'stop' },
    usage: { input, output: Math.ceil(text.length / CHARS_PER_TOKEN) },
  };
}

const FACT = /[A-Za-z][-_=][0-9a-f]{3,}|MESSAGE-|STEP-|tests:|valve:|limit|status="ok"/;
const MAX_LINE = 400;
const MAX_SUMMARY = 6000;

/** Every file below a folder, by its path there. */
function filesIn(folder: string): Readonly<Record<string, string>> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  return Object.fromEntries(
    entries
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !path.includes('/.telltale/'))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  );
}
