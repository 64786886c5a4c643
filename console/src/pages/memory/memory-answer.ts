import { isJsonObject, type Json, type JsonObject } from '../../../../telltale/src/lib/json.ts';

/** A node of the graph, as a card shows it. */
export interface MemoryCard {
  /** Its name in edges. */
  readonly key: string;
  readonly kind: 'symbol' | 'file' | 'module' | 'fact' | 'decision' | 'session';
  /** `function`, `class` and so on. For a file, its language. */
  readonly what?: string;
  readonly title: string;
  /** `src/session.ts:12`. */
  readonly at?: string;
  readonly signature?: string;
  readonly doc?: string;
  readonly snippet?: string;
  /** The names that a file defines. */
  readonly defines?: readonly string[];
  /** The session, the commit and the time a fact comes from. */
  readonly session?: string;
  readonly commit?: string;
  readonly atMs?: number;
  /** Files that changed since the fact was learned. */
  readonly stale?: readonly string[];
  /** 0 for the searched node, more for nodes around it. */
  readonly distance: number;
  readonly relations: readonly Relation[];
}

/** How a card is related to others, such as `called by`, and to which. */
export interface Relation {
  readonly label: string;
  readonly to: readonly { readonly key: string; readonly title: string; readonly symbol?: string }[];
}

export interface MemoryAnswerView {
  readonly found: readonly MemoryCard[];
  readonly around: readonly MemoryCard[];
  readonly note?: string;
}

const LABELS: Readonly<Record<string, readonly [out: string, back: string]>> = {
  calls: ['calls', 'called by'],
  imports: ['imports', 'imported by'],
  defines: ['defines', 'defined in'],
  mentions: ['about', 'spoken of in'],
  learned_in: ['learned in', 'where this was learned'],
  supersedes: ['in place of', 'replaced by'],
};

/** Reads the server's answer. It omits parts of unknown shape. */
export function readMemoryAnswer(answer: JsonObject): MemoryAnswerView {
  const nodes = listOf(answer.nodes).flatMap(cardOf);
  const byKey = new Map(nodes.map((card) => [card.key, card]));
  const relations = new Map<string, Map<string, Relation['to'][number][]>>();
  const relate = (key: string, label: string, other: string) => {
    if (!byKey.has(key)) return;
    const own = relations.get(key) ?? new Map<string, Relation['to'][number][]>();
    relations.set(key, own);
    const known = byKey.get(other);
    const list = own.get(label) ?? [];
    own.set(label, list);
    if (list.some((one) => one.key === other)) return;
    list.push({
      key: other,
      title: known?.title ?? other,
      ...(known?.kind === 'symbol' ? { symbol: known.title } : {}),
    });
  };
  for (const edge of listOf(answer.edges)) {
    if (!isJsonObject(edge)) continue;
    const { kind, from, to } = edge;
    if (typeof kind !== 'string' || typeof from !== 'string' || typeof to !== 'string') continue;
    const [out, back] = LABELS[kind] ?? [kind, `${kind} (the other way)`];
    relate(from, out, to);
    relate(to, back, from);
  }
  const cards = nodes.map((card) => ({
    ...card,
    relations: [...(relations.get(card.key) ?? [])].map(([label, to]) => ({ label, to })),
  }));
  return {
    found: cards.filter(({ distance }) => distance === 0),
    around: cards.filter(({ distance }) => distance > 0),
    ...(typeof answer.note === 'string' ? { note: answer.note } : {}),
  };
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

function cardOf(node: Json): readonly MemoryCard[] {
  if (!isJsonObject(node)) return [];
  const { kind, distance } = node;
  const text = (key: string) => {
    const value = textOf(node[key]);
    return value === undefined ? {} : { [key]: value };
  };
  const common = {
    distance: typeof distance === 'number' ? distance : 0,
    relations: [],
    ...text('at'),
    ...text('signature'),
    ...text('doc'),
    ...text('snippet'),
    ...text('session'),
    ...text('commit'),
    ...(typeof node.atMs === 'number' ? { atMs: node.atMs } : {}),
  };
  const names = (value: Json | undefined) => listOf(value).filter((one) => typeof one === 'string');
  switch (kind) {
    case 'symbol':
      return [
        {
          ...common,
          kind,
          key: textOf(node.at) ?? '',
          title: textOf(node.name) ?? '?',
          what: textOf(node.what) ?? 'symbol',
        },
      ];
    case 'file':
      return [
        {
          ...common,
          kind,
          key: textOf(node.at) ?? '',
          title: textOf(node.at) ?? '?',
          what: textOf(node.language) ?? 'file',
          defines: names(node.defines),
        },
      ];
    case 'module':
      return [{ ...common, kind, key: textOf(node.name) ?? '', title: textOf(node.name) ?? '?' }];
    case 'fact':
    case 'decision':
      return [
        {
          ...common,
          kind,
          key: textOf(node.id) ?? '',
          title: textOf(node.text) ?? '',
          stale: names(node.stale),
        },
      ];
    case 'session':
      return [{ ...common, kind, key: textOf(node.session) ?? '', title: textOf(node.title) ?? 'A session' }];
    default:
      return [];
  }
}
