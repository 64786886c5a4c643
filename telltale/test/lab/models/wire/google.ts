import type { HeardMessage, Utterance } from '../words.ts';
import {
  contentText,
  data,
  type Fields,
  fieldsOf,
  grouped,
  isFields,
  listOf,
  pieces,
  textOf,
  type Usage,
  type Wire,
} from './wire.ts';

const frame = (parts: readonly object[], rest: object = {}) =>
  data({ candidates: [{ content: { role: 'model', parts }, index: 0, ...rest }] });

function frames({ parts, finish }: Utterance, { input, output }: Usage): readonly string[] {
  const found = parts.flatMap((part) => {
    if (part.type === 'text') return pieces(part.text).map((text) => frame([{ text }]));
    const { name, input: written } = part.call;
    return [frame([{ functionCall: { name, args: JSON.parse(written) as unknown } }])];
  });
  if (finish === 'broken') return found;
  const usageMetadata = {
    promptTokenCount: input,
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  };
  const finishReason = finish === 'stop' ? 'STOP' : 'MAX_TOKENS';
  return [
    ...found,
    data({
      candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, index: 0, finishReason }],
      usageMetadata,
    }),
  ];
}

/** Gemini's calls have no ids: the nth answer of a name is that of its nth call. */
function heard(contents: readonly Fields[]): readonly HeardMessage[] {
  const messages: HeardMessage[] = [];
  const open: { readonly id: string; readonly name: string }[] = [];
  let calls = 0;
  for (const { role, parts } of contents)
    for (const part of listOf(parts))
      if (isFields(part.functionCall)) {
        const { name, args } = part.functionCall;
        const made = { id: `g${calls++}`, name: textOf(name), input: JSON.stringify(args ?? {}) };
        open.push(made);
        messages.push({ by: 'model', text: '', calls: [made] });
      } else if (isFields(part.functionResponse)) {
        const { name, response } = part.functionResponse;
        const at = open.findIndex((each) => each.name === name);
        const [answered] = at === -1 ? [] : open.splice(at, 1);
        messages.push({ by: 'tool', call: answered?.id ?? '', text: answerText(response), failed: false });
      } else {
        const text = textOf(part.text);
        messages.push(role === 'model' ? { by: 'model', text, calls: [] } : { by: 'runtime', text });
      }
  return messages;
}

function answerText(response: unknown): string {
  const { content, output, result, error } = fieldsOf(response);
  const text = content ?? output ?? result ?? error ?? response;
  return typeof text === 'string' ? text : JSON.stringify(text);
}

export const GOOGLE: Wire = {
  name: 'google',
  hasRawArguments: false,
  read(body) {
    const { systemInstruction, contents, tools, toolConfig } = fieldsOf(body);
    const { mode, allowedFunctionNames: allowed } = fieldsOf(fieldsOf(toolConfig).functionCallingConfig);
    const forced = mode === 'ANY' && Array.isArray(allowed) ? textOf(allowed[0]) : '';
    return {
      system: contentText(fieldsOf(systemInstruction).parts),
      messages: grouped(heard(listOf(contents))),
      tools: listOf(tools).flatMap(({ functionDeclarations: all }) =>
        listOf(all).map(({ name }) => textOf(name)),
      ),
      ...(forced === '' ? {} : { forced }),
    };
  },
  frames,
  refusal: (why) =>
    why === 'overloaded'
      ? {
          status: 503,
          body: { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
        }
      : {
          status: 400,
          body: {
            error: {
              code: 400,
              message: 'The input token count (40000) exceeds the maximum number of tokens allowed (32000).',
              status: 'INVALID_ARGUMENT',
            },
          },
        },
};
