import { RuntimeError } from '../../../lib/errors.ts';
import { statusOf } from '../../http/error-answer.ts';

/** What OpenAI's chat completions consist of, as far as agents have it. */

export interface CompletionUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

export interface Completion {
  readonly id: string;
  readonly object: 'chat.completion';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly [
    {
      readonly index: 0;
      readonly message: { readonly role: 'assistant'; readonly content: string; readonly refusal: null };
      readonly logprobs: null;
      readonly finish_reason: 'stop';
    },
  ];
  readonly usage: CompletionUsage;
  /** Where the conversation may move to other agents: who answered what. */
  readonly telltale?: { readonly said: readonly { readonly agent: string; readonly text: string }[] };
}

export interface CompletionChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    /** `reasoning_content`: as servers of open models call what is thought on the way. */
    readonly delta: {
      readonly role?: 'assistant';
      readonly content?: string;
      readonly reasoning_content?: string;
    };
    readonly logprobs: null;
    readonly finish_reason: 'stop' | null;
  }[];
  readonly usage?: CompletionUsage | null;
  /** Where the conversation may move to other agents: whose words these are. */
  readonly telltale?: { readonly agent: string };
}

export interface ModelInfo {
  readonly id: string;
  readonly object: 'model';
  readonly created: number;
  readonly owned_by: 'telltale';
}

/** The body of an answer that is no success, as clients of OpenAI's API read it. */
export interface OpenAiError {
  readonly error: {
    readonly message: string;
    readonly type: 'invalid_request_error' | 'server_error';
    readonly param: string | null;
    readonly code: string;
  };
}

/** The parameter that an error is about, for `param`. */
const PARAM = Symbol('param');

export const aboutParam = (param: string, error: RuntimeError): RuntimeError =>
  Object.assign(error, { [PARAM]: param });

export function openAiError(
  thrown: { readonly code: string; readonly message: string; readonly hint?: string | undefined },
  type: OpenAiError['error']['type'],
): OpenAiError {
  const { code, message, hint } = thrown;
  const param = PARAM in thrown ? (thrown[PARAM] as string) : null;
  return { error: { message: hint === undefined ? message : `${message} ${hint}`, type, param, code } };
}

/** What was sent in part and does not stand: no client of this protocol can take text back. */
export const answerWithdrawn = () =>
  new RuntimeError(
    'answer_withdrawn',
    'The agent took back what it had begun to answer, and said something else.',
    {
      hint: 'Ask again without "stream", or read the whole session in the console.',
      retryable: true,
    },
  );

/** The status of an error, and its body. */
export function openAiAnswer(error: RuntimeError): { readonly status: number; readonly body: OpenAiError } {
  const status = statusOf(error);
  if (error.code !== 'agent_unknown')
    return { status, body: openAiError(error, status < 500 ? 'invalid_request_error' : 'server_error') };
  const unknown = new RuntimeError('model_not_found', error.message, { hint: error.hint });
  return { status, body: openAiError(aboutParam('model', unknown), 'invalid_request_error') };
}
