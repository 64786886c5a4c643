import { nearest } from '../../lib/nearest.ts';
import { fullModelRef, isModelRef } from '../../manifest/schema/model-ref.ts';
import { KNOWN_PROVIDERS } from '../../models/providers/known-providers.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';

/** The script that replaces the model in a project without one. */
export const SCRIPT = 'scripted:./transcripts/chat.yml';

interface Offer {
  readonly name: string;
  readonly label: string;
  /** Undefined if the server decides which models there are. */
  readonly model: string | undefined;
}

/** In the order in which they are offered and their keys are looked up. */
const OFFERS: readonly Offer[] = [
  { name: 'anthropic', label: 'Anthropic', model: 'anthropic/claude-sonnet-4-5' },
  { name: 'openai', label: 'OpenAI', model: 'openai/gpt-5' },
  { name: 'google', label: 'Google', model: 'google/gemini-2.5-pro' },
  { name: 'ollama', label: 'Ollama (models on this machine)', model: 'ollama/qwen3' },
  { name: 'openai-compatible', label: 'A server that speaks the OpenAI API', model: undefined },
  { name: 'scripted', label: 'None yet: the scripted model (runs without a key)', model: SCRIPT },
];

export interface ChosenModel {
  readonly provider: string;
  readonly model: string;
  /** The environment variable of the provider's key; undefined where it needs none. */
  readonly keyVariable: string | undefined;
  /** Whether that variable is set. */
  readonly hasKey: boolean;
  /** A key that the user typed in, for `.env`. */
  readonly key?: string;
}

/** The model that `--provider` and `--model` name. Undefined without either option. */
export function givenModel(
  given: { readonly provider?: string; readonly model?: string },
  env: Io['env'],
): ChosenModel | undefined {
  const { provider, model } = given;
  if (provider === undefined) {
    if (model === undefined) return undefined;
    if (!isModelRef(model))
      throw usage(
        `'${model}' is not a model.`,
        'Write --model provider/model, --model scripted:FILE, or name the provider with --provider.',
      );
    const full = fullModelRef(model);
    return chosen(full.startsWith('scripted:') ? 'scripted' : (full.split('/')[0] ?? ''), full, env);
  }
  const offer = OFFERS.find(({ name }) => name === provider);
  if (offer === undefined) throw unknownProvider(provider);
  if (model === undefined) {
    if (offer.model === undefined)
      throw usage(`'${provider}' has no default model.`, `Name one: --provider ${provider} --model NAME`);
    return chosen(provider, offer.model, env);
  }
  const prefix = provider === 'scripted' ? 'scripted:' : `${provider}/`;
  return chosen(provider, model.startsWith(prefix) ? model : prefix + model, env);
}

/** The model of a project if nobody can be asked: the first provider whose key is set, otherwise the script. */
export function foundModel(env: Io['env']): ChosenModel {
  const offer = OFFERS.find(({ name, model }) => model !== undefined && hasKey(name, env));
  return chosen(offer?.name ?? 'scripted', offer?.model ?? SCRIPT, env);
}

function chosen(provider: string, model: string, env: Io['env']): ChosenModel {
  if (provider !== 'scripted' && KNOWN_PROVIDERS[provider] === undefined) throw unknownProvider(provider);
  const { keyVariable, needsKey = false } = KNOWN_PROVIDERS[provider] ?? {};
  return {
    provider,
    model,
    keyVariable: needsKey ? keyVariable : undefined,
    hasKey: hasKey(provider, env),
  };
}

function hasKey(provider: string, env: Io['env']): boolean {
  const { keyVariable } = KNOWN_PROVIDERS[provider] ?? {};
  return keyVariable !== undefined && Boolean(env[keyVariable]);
}

function unknownProvider(provider: string) {
  const names = OFFERS.map(({ name }) => name);
  const near = nearest(provider, names);
  return usage(
    `There is no provider '${provider}'.`,
    near === undefined ? `Providers: ${names.join(', ')}.` : `Did you mean ${near}?`,
  );
}

/** The terminal that questions appear on. */
export interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

/** Asks for the provider, listing those with a key first, and for a missing key. Undefined after Ctrl-C or Ctrl-D. */
export async function askModel(
  { env, signal }: Pick<Io, 'env' | 'signal'>,
  terminal: Terminal,
): Promise<ChosenModel | undefined> {
  const { cancel, isCancel, password, select } = await import('@clack/prompts');
  const stop = () => cancel('Nothing was created.', { output: terminal.output });
  const ended = new AbortController();
  const end = () => ended.abort();
  // Without this the prompt would wait forever.
  const onKey = (_: unknown, key?: { readonly ctrl?: boolean; readonly name?: string }) => {
    if (key?.ctrl === true && key.name === 'd') end();
  };
  terminal.input.once('end', end).on('keypress', onKey);
  const deps = { ...terminal, signal: AbortSignal.any([signal, ended.signal]) };
  try {
    const offers = OFFERS.flatMap(({ name, label, model }) =>
      model === undefined ? [] : [{ label, ...chosen(name, model, env) }],
    ).toSorted((one, other) => Number(other.hasKey) - Number(one.hasKey));
    const provider = await select({
      message: 'Which provider runs the model?',
      options: offers.map((offer) => ({ value: offer.provider, label: labelOf(offer) })),
      initialValue: foundModel(env).provider,
      ...deps,
    });
    const offer = offers.find((each) => each.provider === provider);
    if (isCancel(provider) || offer === undefined) return void stop();
    const { label: _, ...model } = offer;
    if (model.keyVariable === undefined || model.hasKey) return model;
    const key = await password({
      message: `Your ${model.keyVariable} (saved in .env, which git ignores; Enter to add it later)`,
      ...deps,
    });
    if (isCancel(key)) return void stop();
    const typed = (key ?? '').trim();
    return typed === '' ? model : { ...model, hasKey: true, key: typed };
  } finally {
    terminal.input.off('end', end).off('keypress', onKey);
  }
}

function labelOf({ label, keyVariable, hasKey }: ChosenModel & { readonly label: string }): string {
  if (keyVariable === undefined) return label;
  return `${label} (${hasKey ? `${keyVariable} is set` : `needs ${keyVariable}`})`;
}
