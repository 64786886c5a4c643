import { Icon } from './icon.tsx';

export interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

/** The search field of a page. `/` focuses it and Escape clears it. */
export const SearchField = ({ label, value, onChange }: SearchFieldProps) => (
  <span className="relative min-w-0 flex-1 basis-52 sm:max-w-xs">
    <Icon
      name="search"
      size={14}
      className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-ink-faint"
    />
    <input
      type="search"
      data-search=""
      aria-label={label}
      placeholder={`${label} ( / )`}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        onChange('');
        event.currentTarget.blur();
      }}
      className="h-8 w-full rounded-md border border-line bg-surface pr-2 pl-8 text-body placeholder:text-ink-faint hover:border-line-strong"
    />
  </span>
);
