import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(`${ROOT}docs/security.md`, 'utf8');
/** `path/of.test.ts`: "a title", "another" */
const PROOF = /`([\w/.-]+\.test\.ts)`: ((?:"(?:\\"|[^"])+"(?:, )?)+)/g;

const proofs = [...page.matchAll(PROOF)].flatMap(([, file = '', titles = '']) =>
  [...titles.matchAll(/"((?:\\"|[^"])+)"/g)].map(([, title = '']) => ({
    file,
    title: title.replaceAll('\\"', '"'),
  })),
);

describe('docs/security.md', () => {
  it.each(proofs)('$file has the test "$title"', ({ file, title }) => {
    const path = `${ROOT}telltale/test/${file}`;
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path, 'utf8').replaceAll(/['`]\s*\+\s*['`]/g, '')).toContain(title);
  });

  it('says for each attacker what is promised, what is not, and what proves it', () => {
    const threats = page.split(/^(?=##+ )/m).filter((section) => section.includes('**Promised.**'));
    expect(threats.length).toBeGreaterThan(12);
    for (const section of threats) {
      const [heading] = section.split('\n');
      expect(section, heading).toContain('**Not promised.**');
      expect(section, heading).toMatch(/\*\*Proof\.\*\* `[\w/.-]+\.test\.ts`/);
    }
    for (const file of page.matchAll(/`([\w/.-]+\.test\.ts)`/g))
      expect(existsSync(`${ROOT}telltale/test/${file[1]}`), file[1]).toBe(true);
  });
});
