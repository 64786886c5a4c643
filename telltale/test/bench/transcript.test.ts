import { describe, expect, it } from 'vitest';
import { cut, cutUnevenly } from '../../../bench/parsing/chunks.ts';
import { fingerprint } from '../../../bench/parsing/fingerprint.ts';
import { families } from '../../../bench/parsing/hostile.ts';
import { countIntact } from '../../../bench/parsing/intact.ts';
import { createSeeded } from '../../../bench/parsing/seeded.ts';
import { createTelltale } from '../../../bench/parsing/telltale.ts';
import { createTranscript } from '../../../bench/parsing/transcript.ts';

const transcript = createTranscript();

describe('the transcript of the bench', () => {
  it('is the same text and the same actions each time it is written', () => {
    expect(createTranscript()).toEqual(transcript);
  });

  it('is another text for another seed', () => {
    expect(createTranscript(1).text).not.toBe(transcript.text);
  });

  it('has 871 action bodies in 1.0 to 1.1 MB', () => {
    expect(transcript.actions).toHaveLength(871);
    expect(Buffer.byteLength(transcript.text)).toBeGreaterThan(1_000_000);
    expect(Buffer.byteLength(transcript.text)).toBeLessThan(1_100_000);
  });

  it('holds in its bodies what breaks parsers that do not know JSON strings', () => {
    const bodies = transcript.actions.map((action) => JSON.stringify(action.parameters));
    for (const trap of ['</action>', '</div>', '<script>', '&amp;', '\\n', '\\"', '🚀', '世界'])
      expect(bodies.some((body) => body.includes(trap))).toBe(true);
  });

  it('has the JSON of every body at hand, as it stands in the text', () => {
    let at = 0;
    for (const body of transcript.bodies) {
      at = transcript.text.indexOf(body, at);
      expect(at).toBeGreaterThan(-1);
      at += body.length;
    }
    const values = transcript.bodies.map((body) => JSON.parse(body) as unknown);
    expect(countIntact(transcript.actions, values).intact).toBe(871);
    expect(transcript.text.match(/<metadata>/g)).toHaveLength(values.length - 871);
  });

  it('gives its bodies back intact, in order, without a fault, however it is cut', async () => {
    const { bodies } = await createTelltale().run(transcript.turns.map((turn) => cut(turn, 64)));
    expect(countIntact(transcript.actions, bodies)).toEqual({ intact: 871, phantom: 0 });
    const seeded = createSeeded(3);
    const whole = fingerprint([transcript.text]);
    expect(whole.faults).toBe(0);
    expect(fingerprint(cut(transcript.text, 4))).toEqual(whole);
    expect(fingerprint(cutUnevenly(transcript.text, () => seeded.between(1, 30)))).toEqual(whole);
  });
});

describe('the count of intact bodies', () => {
  const said = transcript.actions.slice(0, 5);

  it('does not count a body with a character missing, one out of order, or one that nobody said', () => {
    const [first, second, third, fourth, fifth] = said.map((action) => structuredClone(action));
    const damaged = { ...third, parameters: { ...third!.parameters, more: 1 } };
    expect(countIntact(said, [first, second, damaged, fifth, fourth, { name: 'clock' }])).toEqual({
      intact: 3,
      phantom: 3,
    });
  });

  it('does not mind the order of keys', () => {
    const reversed = said.map(({ name, parameters }) => ({
      parameters: Object.fromEntries(Object.entries(parameters).reverse()),
      name,
    }));
    expect(countIntact(said, reversed)).toEqual({ intact: 5, phantom: 0 });
  });
});

describe('the hostile families', () => {
  it.each(families)('$name: as long as asked, and the same events by the character and at once', (family) => {
    const text = family.write(20_000);
    expect(text).toHaveLength(20_000);
    expect(fingerprint(cut(text, 1), family.options)).toEqual(fingerprint([text], family.options));
  });
});
