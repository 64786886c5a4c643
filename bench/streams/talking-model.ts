import type { Model, ModelSink } from '../../telltale/src/models/model.ts';
import { sharedMs } from './scene.ts';

/** Tokens of a thought, and of a response behind it. */
const THOUGHT = 50;
const RESPONSE = 100;

interface Speaker {
  readonly sink: ModelSink;
  said: number;
}

/** A model that talks to all who ask, at so many tokens a second, until it is stopped. Each token tells its time. */
export interface TalkingModel extends Model {
  /** Resolves once so many are being talked to. */
  readonly speakers: number;
  start(): void;
  stop(): void;
}

export function createTalkingModel(tokensPerSecond: number): TalkingModel {
  const speakers: Speaker[] = [];
  const ends: (() => void)[] = [];
  let timer: ReturnType<typeof setInterval> | undefined;

  const speak = (speaker: Speaker) => {
    const at = speaker.said++ % (THOUGHT + RESPONSE);
    if (at === 0) speaker.sink.text('<thought>');
    if (at === THOUGHT) speaker.sink.text('</thought><response final="false">');
    speaker.sink.text(`@${sharedMs()} `);
    if (at === THOUGHT + RESPONSE - 1) speaker.sink.text('</response>');
  };

  return {
    id: 'talking',
    get speakers() {
      return speakers.length;
    },
    stream: (_request, sink) =>
      new Promise((resolve) => {
        speakers.push({ sink, said: 0 });
        ends.push(() => resolve({ finish: 'stop', usage: { input: 1, output: 1 } }));
      }),
    start() {
      const perMs = (speakers.length * tokensPerSecond) / 1000;
      const from = performance.now();
      let done = 0;
      timer = setInterval(() => {
        for (const due = Math.floor((performance.now() - from) * perMs); done < due; done++)
          speak(speakers[done % speakers.length]!);
      }, 1);
    },
    stop() {
      clearInterval(timer);
      for (const end of ends) end();
    },
  };
}
