import { execFile } from 'node:child_process';
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { costOf, modelFacts } from '../../src/models/prices.ts';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';

const refused = (ref: string, env: Record<string, string | undefined> = {}) =>
  createProviderModel(ref, { env }).then(
    () => 'It was opened.',
    ({ code, message, hint }: { code: string; message: string; hint?: string }) => ({ code, message, hint }),
  );

describe('a provider', () => {
  it('that is not known is told with the nearest and with all that are', async () => {
    expect(await refused('antropic/claude')).toEqual({
      code: 'provider_unknown',
      message: 'There is no provider "antropic".',
      hint: 'Did you mean "anthropic"? Known: anthropic, openai, google, openai-compatible, ollama. For any other OpenAI-compatible server, use openai-compatible/MODEL.',
    });
    expect(await refused('constructor/x')).toMatchObject({ code: 'provider_unknown' });
  });

  it.each([
    ['anthropic/x', 'ANTHROPIC_API_KEY'],
    ['openai/x', 'OPENAI_API_KEY'],
    ['google/x', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  ])('%s without a key names the variable', async (ref, variable) => {
    for (const value of [undefined, '', ' \n'])
      expect(await refused(ref, { [variable]: value })).toMatchObject({
        code: 'model_key_missing',
        message: `"${ref}" needs an API key, but ${variable} is not set.`,
      });
  });

  it('openai-compatible needs an address, not a key', async () => {
    expect(await refused('openai-compatible/x')).toMatchObject({
      code: 'model_base_url_missing',
      message:
        '"openai-compatible/x" needs the address of a server, but OPENAI_COMPATIBLE_BASE_URL is not set.',
    });
    expect(await refused('openai-compatible/x', { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1' })).toBe(
      'It was opened.',
    );
  });

  it('at an address that is none is refused', async () => {
    for (const base of ['localhost:8000', 'nonsense', 'file:///etc/passwd'])
      expect(await refused('ollama/x', { OLLAMA_BASE_URL: base })).toMatchObject({
        code: 'model_base_url_invalid',
        message: `"${base}" is not the address of a model server.`,
      });
  });

  it('whose package is not installed says what to install', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'telltale-bare-'));
    for (const room of ['lib', 'manifest', 'models'])
      await cp(join(import.meta.dirname, '../../src', room), join(folder, room), { recursive: true });
    await writeFile(
      join(folder, 'try.ts'),
      `import { createProviderModel } from './models/providers/create-provider-model.ts';
       createProviderModel('anthropic/x', { env: { ANTHROPIC_API_KEY: 'k' } }).catch((error) => console.log(JSON.stringify(error)));`,
    );
    const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', join(folder, 'try.ts')]);
    expect(JSON.parse(stdout)).toEqual({
      code: 'provider_missing',
      message: '"anthropic/x" needs the package @ai-sdk/anthropic, which is not installed.',
      hint: 'npm install @ai-sdk/anthropic',
      retryable: false,
    });
  });

  it('that is known well comes with its price and its window', async () => {
    const model = await createProviderModel('anthropic/claude-sonnet-4-5-20250929', {
      env: { ANTHROPIC_API_KEY: 'k' },
    });
    expect(model).toMatchObject({ price: { input: 3, output: 15 }, contextWindow: 200_000 });
  });
});

describe('prices', () => {
  it('hold for dated editions, and for no model by another name', () => {
    const gpt5 = modelFacts('openai/gpt-5');
    expect(gpt5).toBeDefined();
    expect(modelFacts('openai/gpt-5-2025-08-07')).toBe(gpt5);
    expect(modelFacts('openai/gpt-5-mini-2025-08-07')).toBe(modelFacts('openai/gpt-5-mini'));
    expect(modelFacts('google/gemini-3-pro-preview')).toBe(modelFacts('google/gemini-3-pro'));
    expect(modelFacts('anthropic/claude-opus-4-20250514')).toBe(modelFacts('anthropic/claude-opus-4'));
    for (const ref of [
      'openai/gpt-5-pro',
      'openai/gpt-5.9',
      'openai/gpt-50',
      'ollama/qwen3',
      'anthropic/gpt-5',
    ])
      expect([ref, modelFacts(ref)]).toEqual([ref, undefined]);
  });

  it('are for a million tokens, cached and written input apart', () => {
    const price = { input: 3, output: 15, cached: 0.3, written: 3.75 };
    expect(costOf(price, { input: 1_000_000, output: 0 })).toBe(3);
    expect(costOf(price, { input: 0, output: 2_000_000 })).toBe(30);
    expect(costOf(price, { input: 1_000_000, output: 0, cached: 600_000, written: 100_000 })).toBeCloseTo(
      0.3 * 3 + 0.6 * 0.3 + 0.1 * 3.75,
    );
  });

  it('of input hold for cached and written input where these have none', () => {
    expect(
      costOf({ input: 2, output: 0 }, { input: 1_000_000, output: 0, cached: 400_000, written: 400_000 }),
    ).toBe(2);
  });

  it('are never below zero, whatever a provider says was cached', () => {
    expect(costOf({ input: 2, output: 0, cached: 0 }, { input: 10, output: 0, cached: 50 })).toBe(0);
  });
});
