import { type ReactNode, useState } from 'react';
import { isJsonObject, type Json } from '../../../telltale/src/lib/json.ts';
import { visibleText } from '../../../telltale/src/lib/text.ts';
import { formatWhole } from '../format/format-number.ts';
import { cx } from './class-names.ts';
import { Icon } from './icon.tsx';

/** How many entries of a list or object, and characters of a text, are shown at first. */
const FIRST_ENTRIES = 30;
const FIRST_CHARACTERS = 600;
const MORE_CHARACTERS = 20_000;
/** How many levels are open at first. Deeper ones are rendered only when they are opened. */
const OPEN_LEVELS = 2;

export interface JsonViewProps {
  readonly value: Json;
  readonly label?: string;
  readonly className?: string;
}

/** A value that can be unfolded. It renders text only, with invisible characters made visible. */
export const JsonView = ({ value, label, className }: JsonViewProps) => (
  <section
    aria-label={label ?? 'Value'}
    className={cx('overflow-x-auto rounded-md bg-sunken p-2.5 font-mono text-small', className)}
  >
    <Value value={value} level={0} />
  </section>
);

interface ValueProps {
  readonly value: Json;
  readonly level: number;
  readonly name?: string;
}

function Value({ value, level, name }: ValueProps): ReactNode {
  if (Array.isArray(value))
    return <Entries name={name} level={level} entries={value.map((item, at) => [String(at), item])} list />;
  if (isJsonObject(value)) return <Entries name={name} level={level} entries={Object.entries(value)} />;
  return (
    <div className="flex min-w-0 gap-1.5">
      <Name name={name} />
      {typeof value === 'string' ? (
        <Text text={value} />
      ) : (
        <span className="text-stall">{JSON.stringify(value)}</span>
      )}
    </div>
  );
}

const Name = ({ name }: { readonly name: string | undefined }) =>
  name === undefined ? null : <span className="shrink-0 text-ink-faint">{visibleText(name)}:</span>;

interface EntriesProps {
  readonly name: string | undefined;
  readonly level: number;
  readonly entries: readonly (readonly [string, Json])[];
  readonly list?: boolean;
}

function Entries({ name, level, entries, list = false }: EntriesProps) {
  const [open, setOpen] = useState(level < OPEN_LEVELS);
  const [shown, setShown] = useState(FIRST_ENTRIES);
  if (entries.length === 0)
    return (
      <div className="flex gap-1.5">
        <Name name={name} />
        <span className="text-ink-faint">{list ? '[]' : '{}'}</span>
      </div>
    );
  const rest = entries.length - shown;
  const count = `${formatWhole(entries.length)} ${list ? 'items' : 'keys'}`;
  return (
    <div className="min-w-0">
      {level === 0 && name === undefined ? null : (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="-ml-1 flex items-center gap-1 rounded px-0.5 hover:bg-hover"
        >
          <Icon name={open ? 'chevronDown' : 'chevronRight'} size={12} className="text-ink-faint" />
          <Name name={name ?? ''} />
          {open ? null : <span className="text-ink-faint">{list ? `[${count}]` : `{${count}}`}</span>}
        </button>
      )}
      {open ? (
        <div className={level === 0 && name === undefined ? '' : 'border-l border-line pl-3'}>
          {entries.slice(0, shown).map(([key, item]) => (
            <Value key={key} name={key} value={item} level={level + 1} />
          ))}
          {rest > 0 ? <More onClick={() => setShown(shown + 10 * FIRST_ENTRIES)}>{rest} more</More> : null}
        </div>
      ) : null}
    </div>
  );
}

function Text({ text }: { readonly text: string }) {
  const [shown, setShown] = useState(FIRST_CHARACTERS);
  const rest = text.length - shown;
  return (
    <span className="min-w-0 break-words whitespace-pre-wrap text-done">
      {text === '' ? '""' : visibleText(rest > 0 ? text.slice(0, shown) : text)}
      {rest > 0 ? (
        <More onClick={() => setShown(shown + MORE_CHARACTERS)}>… {formatWhole(rest)} more characters</More>
      ) : null}
    </span>
  );
}

const More = ({ onClick, children }: { readonly onClick: () => void; readonly children: ReactNode }) => (
  <button type="button" onClick={onClick} className="px-1 font-medium text-accent hover:underline">
    {children}
  </button>
);
