import { type SaidAction, sayAction, writeJson } from './actions.ts';
import { type Palette, palette as usual } from './palette.ts';
import { paragraph, sentence } from './prose.ts';
import { createSeeded, type Seeded } from './seeded.ts';

export interface Transcript {
  /** What a model wrote, raw, turn by turn. */
  readonly turns: readonly string[];
  /** The turns as one stream. */
  readonly text: string;
  /** What the bodies of its actions hold, in the order in which they were said. */
  readonly actions: readonly SaidAction[];
  /** The JSON of every body, metadata's too, as it was written. */
  readonly bodies: readonly string[];
}

const TRANSCRIPT_ACTIONS = 871;
const TRANSCRIPT_SEED = 20_261_115;

/**
 * About 1.05 MB of turns: thoughts, metadata, actions, Markdown responses and text between them. Everything in it is
 * well-formed by the protocol (every body is strict JSON, every element is closed), so a parser that loses a body
 * lost it to quoting and not to a model's mistake. The same seed gives the same text, character for character.
 */
export const createTranscript = (seed = TRANSCRIPT_SEED, count = TRANSCRIPT_ACTIONS): Transcript =>
  write(usual, seed, count);

function write(palette: Palette, seed: number, count: number): Transcript {
  const seeded = createSeeded(seed);
  const said: Said = { actions: [], bodies: [] };
  const { actions, bodies } = said;
  const turns: string[] = [];
  while (actions.length < count)
    turns.push(writeTurn(palette, seeded, Math.min(seeded.between(1, 5), count - actions.length), said));
  return { turns, text: turns.join(''), actions, bodies };
}

/** What the turns so far have said. */
interface Said {
  readonly actions: SaidAction[];
  readonly bodies: string[];
}

function writeTurn(palette: Palette, seeded: Seeded, count: number, { actions, bodies }: Said): string {
  const parts: string[] = [];
  const ids: string[] = [];
  const body = (value: Parameters<typeof writeJson>[1]): string => {
    const json = writeJson(seeded, value);
    bodies.push(json);
    return json;
  };
  const say = (): string => {
    const said = sayAction(palette, seeded);
    actions.push(said);
    const id = seeded.chance(0.6) ? `${said.name}-${actions.length}` : undefined;
    const depends = ids.length > 0 && seeded.chance(0.3) ? { depends_on: [seeded.pick(ids)] } : {};
    const envelope = { name: said.name, parameters: said.parameters, ...depends, ...extras(seeded) };
    if (id !== undefined) ids.push(id);
    const gap = seeded.pick(['', '', '\n', '\n  ']);
    return `<action${attributes(seeded, id)}>${gap}${body(envelope)}${gap === '' ? '' : '\n'}</action>`;
  };
  if (seeded.chance(0.3)) parts.push(`${sentence(palette, seeded)}\n\n`);
  const inThought = seeded.chance(0.25) ? 1 : 0;
  parts.push(`<thought>\n${paragraph(palette, seeded, 3, 10)}\n`);
  if (inThought > 0) parts.push(`${say()}\n${paragraph(palette, seeded, 1, 3)}\n`);
  if (seeded.chance(0.2)) parts.push(fenced(palette, seeded));
  parts.push('</thought>\n');
  if (seeded.chance(0.6)) parts.push(`<metadata>${body(metadata(palette, seeded))}</metadata>\n`);
  parts.push(arrange(palette, seeded, Array.from({ length: count - inThought }, say), actions.length));
  if (seeded.chance(0.7))
    parts.push(`<response final="${seeded.chance(0.2)}">\n${markdown(palette, seeded)}</response>\n`);
  parts.push('\n');
  return parts.join('');
}

/** Control tags stand round some of a turn's actions, as they would: a group, or a branch. */
function arrange(palette: Palette, seeded: Seeded, said: readonly string[], turn: number): string {
  const lines = said.join(seeded.pick(['\n', '\n', '\n\n', ' ']));
  if (said.length > 1 && seeded.chance(0.12)) return `<parallel id="group-${turn}">\n${lines}\n</parallel>\n`;
  if (said.length > 0 && seeded.chance(0.08))
    return `<if test="metadata.score > 0.5 &amp;&amp; vars.n &lt; 3">\n${lines}\n<else/>\n${sentence(palette, seeded)}\n</if>\n`;
  return `${lines}\n`;
}

const attributes = (seeded: Seeded, id: string | undefined): string =>
  [
    seeded.chance(0.5) ? ' type="tool"' : '',
    seeded.chance(0.3) ? ` mode="${seeded.pick(['sync', 'async', 'fire_and_forget'])}"` : '',
    id === undefined ? '' : ` id="${id}"`,
  ].join('');

const extras = (seeded: Seeded) => ({
  ...(seeded.chance(0.2) ? { output_key: `out_${seeded.between(1, 9)}` } : {}),
  ...(seeded.chance(0.1) ? { timeout: seeded.between(5, 120), retry: 2 } : {}),
});

const metadata = (palette: Palette, seeded: Seeded) => ({
  status: seeded.pick(['CODING', 'REVIEWING', 'WAITING', 'PRÜFT']),
  confidence: seeded.between(0, 100) / 100,
  context: { file: 'src/index.ts', open: [...palette.files], note: sentence(palette, seeded), last: null },
});

const fenced = (palette: Palette, seeded: Seeded): string =>
  `\`\`\`${seeded.pick(['ts', 'html', 'rust', ''])}\n${palette.fenced(seeded)}\`\`\`\n`;

function markdown(palette: Palette, seeded: Seeded): string {
  const blocks = Array.from({ length: seeded.between(2, 5) }, () => {
    switch (seeded.between(1, 4)) {
      case 1:
        return `## ${seeded.pick(['What I found', 'Änderungen', 'Next steps', 'Result ✨'])}\n\n${paragraph(palette, seeded, 1, 4)}\n`;
      case 2:
        return `${paragraph(palette, seeded, 1, 2)}\n\n${fenced(palette, seeded)}`;
      case 3:
        return Array.from(
          { length: seeded.between(2, 5) },
          () => `- **${seeded.between(1, 99)} %** ${sentence(palette, seeded)}\n`,
        ).join('');
      default:
        return `| file | change |\n| --- | --- |\n| \`src/a.ts\` | ${sentence(palette, seeded)} |\n| \`${palette.file}\` | +${seeded.between(1, 80)} −3 |\n`;
    }
  });
  return blocks.join('\n');
}
