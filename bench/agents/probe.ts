import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ParserEvent } from '../../telltale/src/parser/intents.ts';
import type { AgentContestant } from './contestant.ts';
import { PROBE, PROBE_DURABLE } from './field.ts';
import { answer, INSTRUCTIONS, PROMPT, type Script, TOOL } from './scenario.ts';
import { speakInTags } from './telltale.ts';

/** Takes the lines of one session, and calls back when they are kept. */
interface Journal {
  keep(stream: number, lines: readonly string[]): Promise<void>;
  close(): void;
}

const BUILT = import.meta.resolve('telltale/protocol');

/**
 * The least that an agent on a log can do, and what no runtime that writes ours can leave out: our parser on the same
 * stream, a line for each event that a session of ours has, told to a reader, kept, and the tool called behind that. One
 * function: no state but the conversation, no limits, time-outs, retries or cancelling, no schema, variables or
 * dependencies, no owner of a stream, no way to take a session up again.
 */
export const createProbe = (store: 'memory' | 'sqlite'): AgentContestant => ({
  name: store === 'memory' ? PROBE : PROBE_DURABLE,
  async open(script, folder) {
    const { createTagParser } = (await import(BUILT)) as typeof import('../../telltale/src/parser/index.ts');
    const journal = store === 'memory' ? keepInMemory() : keepInFile(join(folder, 'probe.db'));
    let calls = 0;
    let sessions = 0;
    const lookup = (query: string) => {
      calls += 1;
      return answer(query);
    };
    return {
      async session() {
        sessions += 1;
        return runProbe(script, sessions, createTagParser, journal, lookup);
      },
      calls: () => calls,
      close: async () => journal.close(),
    };
  },
});

const text = (said: string) => JSON.stringify(said);

async function runProbe(
  script: Script,
  stream: number,
  createTagParser: typeof import('../../telltale/src/parser/index.ts').createTagParser,
  journal: Journal,
  lookup: (query: string) => unknown,
) {
  const messages = [INSTRUCTIONS, PROMPT];
  const ids = new Set<string>();
  let lines: string[] = [];
  let seq = 0;
  let turn = 0;
  let characters = 0;
  // By hand: with a literal for each event and JSON.stringify a step takes 8 µs in place of 6.
  const write = (type: string, rest: string) => {
    seq += 1;
    lines.push(
      `{"v":1,"seq":${seq},"at":${Date.now()},"turn":${turn},"cause":[1,1],"type":"${type}",${rest}}`,
    );
  };
  const kept = () => {
    const written = lines;
    lines = [];
    return journal.keep(stream, written);
  };

  write('session.started', `"agent":"bench","input":${text(PROMPT)},"vars":{},"metadata":{}`);
  await kept();
  for (let answered = false; !answered; ) {
    turn += 1;
    const started = performance.now();
    write('turn.started', `"prompt":{"tokens":${messages.length},"reused_prefix":1}`);
    const parser = createTagParser({ ids });
    let raw = '';
    let written = 0;
    let said = '';
    let call: Extract<ParserEvent, { type: 'action' }> | undefined;
    const output = () => {
      write('model.output', `"offset":${written},"text":${text(raw.slice(written))}`);
      written = raw.length;
    };
    const hear = (event: ParserEvent) => {
      if (event.type === 'delta') {
        characters += event.text.length;
        said += event.text;
      } else if (event.type === 'close') {
        output();
        if (event.tag === 'thought') write('thought', `"text":${text(said)},"depth":0`);
        answered = event.tag === 'response';
      } else if (event.type === 'action') {
        output();
        const { id, kind, mode, name, parameters } = event;
        const input = JSON.stringify(parameters);
        const action = `"id":"${id}","kind":"${kind}","mode":"${mode}","name":"${name}","parameters":${input}`;
        write('action.declared', `"action":{${action}}`);
        write('action.started', `"id":"${id}","attempt":1,"input":${input}`);
        call = event;
      }
    };
    speakInTags(script(turn - 1), {
      text(piece: string) {
        raw += piece;
        for (const event of parser.push(piece)) hear(event);
      },
    });
    for (const event of parser.end()) hear(event);
    const ms = Math.round(performance.now() - started);
    write('turn.completed', `"usage":{"input":10,"output":10},"cost_usd":0,"ms":${ms},"finish":"stop"`);
    messages.push(raw);
    if (answered) {
      write('response', `"text":${text(said)},"final":true`);
      write('session.completed', `"result":${text(said)}`);
    }
    await kept();
    if (call === undefined) continue;
    if (call.name !== TOOL) throw new Error(`The probe has no tool ${call.name}.`);
    const result = JSON.stringify(lookup(String(call.parameters.query)));
    write('action.completed', `"id":"${call.id}","output":${result},"ms":0,"attempts":1`);
    messages.push(`<result id="${call.id}" status="ok">${result}</result>`);
  }
  return { characters };
}

function keepInMemory(): Journal {
  const rows: string[] = [];
  return {
    keep: async (_stream, lines) => {
      rows.push(lines.join('\n'));
    },
    close: () => {
      rows.length = 0;
    },
  };
}

/** All sessions that have something to keep by then in one commit, with its fsync, on the thread that they run on. */
function keepInFile(path: string): Journal {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL');
  db.exec('CREATE TABLE log (id INTEGER PRIMARY KEY, stream INTEGER, body TEXT)');
  const insert = db.prepare('INSERT INTO log (stream, body) VALUES (?, ?)');
  let waiting: { stream: number; lines: readonly string[]; done: () => void }[] = [];
  const commit = () => {
    const group = waiting;
    waiting = [];
    db.exec('BEGIN IMMEDIATE');
    for (const { stream, lines } of group) insert.run(stream, lines.join('\n'));
    db.exec('COMMIT');
    for (const { done } of group) done();
  };
  return {
    keep: (stream, lines) =>
      new Promise((done) => {
        if (waiting.length === 0) setImmediate(commit);
        waiting.push({ stream, lines, done });
      }),
    close: () => db.close(),
  };
}
