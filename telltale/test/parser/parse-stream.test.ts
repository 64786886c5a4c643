import { describe, expect, it } from 'vitest';
import { type ParserEvent, parseStream } from '../../src/parser/index.ts';

async function* chunks(...texts: readonly string[]): AsyncGenerator<string> {
  for (const text of texts) yield text;
}

describe('parseStream', () => {
  it('hands an action over before the model has gone on', async () => {
    const order: string[] = [];
    async function* model() {
      yield '<action id="a">{"name": "ls"}</action>';
      order.push('model goes on');
      yield 'and on';
    }
    await parseStream(model(), { onAction: ({ id }) => order.push(`action ${id}`) });
    expect(order).toEqual(['action a', 'model goes on']);
  });

  it('calls the handler of each type, and onEvent before it, for everything said', async () => {
    const all: ParserEvent[] = [];
    const typed: string[] = [];
    await parseStream(
      chunks(
        'Hi <thought>x</thought><metadata>{"s": 1}</metadata><if test="t"></if>',
        '<foreach in="$l"></foreach><parallel></parallel></thought><response>',
      ),
      {
        onEvent: (event) => all.push(event),
        onText: ({ text }) => typed.push(`text ${text}`),
        onOpen: ({ tag }) => typed.push(`open ${tag}`),
        onDelta: ({ tag, text }) => typed.push(`delta ${tag} ${text}`),
        onClose: ({ tag }) => typed.push(`close ${tag}`),
        onMetadata: ({ value }) => typed.push(`metadata ${JSON.stringify(value)}`),
        onIf: ({ body }) => typed.push(`if ${body}`),
        onForeach: (event) => typed.push(`foreach ${event.in} ${event.as}`),
        onParallel: ({ body }) => typed.push(`parallel ${body}`),
        onFault: ({ code }) => typed.push(`fault ${code}`),
      },
    );
    expect(typed).toEqual([
      'text Hi ',
      'open thought',
      'delta thought x',
      'close thought',
      'metadata {"s":1}',
      'if open',
      'if close',
      'foreach $l item',
      'parallel open',
      'parallel close',
      'fault stray_close',
      'text </thought>',
      'open response',
      'fault truncated',
      'close response',
    ]);
    expect(all).toHaveLength(typed.length);
  });

  it('takes a plain list as well', async () => {
    const names: (string | undefined)[] = [];
    await parseStream(['<action>{"na', 'me": "x"}</action>'], { onAction: ({ name }) => names.push(name) });
    expect(names).toEqual(['x']);
  });

  it('tells the source to stop when a handler throws', async () => {
    let stopped = false;
    async function* endless() {
      try {
        for (;;) yield 'more ';
      } finally {
        stopped = true;
      }
    }
    const failing = parseStream(endless(), {
      onText: () => {
        throw new Error('full');
      },
    });
    await expect(failing).rejects.toThrow('full');
    expect(stopped).toBe(true);
  });

  it('hears nothing more, not even the end, once its signal has gone off', async () => {
    const controller = new AbortController();
    const heard: string[] = [];
    async function* model() {
      yield '<thought>one';
      controller.abort(new Error('enough'));
    }
    const reading = parseStream(model(), {
      signal: controller.signal,
      onEvent: ({ type }) => heard.push(type),
    });
    await expect(reading).rejects.toThrow('enough');
    expect(heard).toEqual(['open', 'delta']);
  });

  it('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    async function* model() {
      yield 'one ';
      controller.abort(new Error('enough'));
      yield 'two ';
    }
    const heard: string[] = [];
    const reading = parseStream(model(), {
      signal: controller.signal,
      onText: ({ text }) => heard.push(text),
    });
    await expect(reading).rejects.toThrow('enough');
    expect(heard).toEqual(['one ']);
  });

  it('does not wait for a source that is silent once its signal has gone off', async () => {
    const controller = new AbortController();
    async function* silent() {
      yield 'one ';
      setImmediate(() => controller.abort(new Error('enough')));
      await new Promise(() => {});
    }
    const heard: string[] = [];
    const reading = parseStream(silent(), {
      signal: controller.signal,
      onText: ({ text }) => heard.push(text),
    });
    await expect(reading).rejects.toThrow('enough');
    expect(heard).toEqual(['one ']);
  });

  it('calls no further handler for a chunk in which one of them aborts its signal', async () => {
    const controller = new AbortController();
    const heard: string[] = [];
    const reading = parseStream(['<thought>a</thought><response>b</response>'], {
      signal: controller.signal,
      onEvent({ type }) {
        heard.push(type);
        controller.abort(new Error('enough'));
      },
    });
    await expect(reading).rejects.toThrow('enough');
    expect(heard).toEqual(['open']);
  });

  it('tells a source to stop that is read under a signal, whether the signal or a handler ends it', async () => {
    for (const how of ['signal', 'handler', 'before']) {
      const controller = new AbortController();
      if (how === 'before') controller.abort(new Error('enough'));
      let cancelled = false;
      const source = new ReadableStream<string>({
        pull: (to) => to.enqueue('more '),
        cancel: () => {
          cancelled = true;
        },
      });
      const reading = parseStream(source, {
        signal: controller.signal,
        onText() {
          if (how === 'handler') throw new Error('enough');
          controller.abort(new Error('enough'));
        },
      });
      await expect(reading).rejects.toThrow('enough');
      expect(cancelled, how).toBe(true);
    }
  });

  it('refuses bytes, and whatever else is no text, with what to do', async () => {
    const bytes = [new TextEncoder().encode('<thought>')] as unknown as readonly string[];
    await expect(parseStream(bytes)).rejects.toMatchObject({
      code: 'bad_option',
      message: 'parseStream was given a stream of something else than text: bytes.',
      hint: expect.stringContaining('TextDecoderStream'),
    });
    await expect(parseStream([undefined] as unknown as readonly string[])).rejects.toMatchObject({
      code: 'bad_option',
    });
  });
});
