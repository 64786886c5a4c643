import { formatCount } from '../format/format-number.ts';

export interface TokensProps {
  readonly input: number;
  readonly output: number;
  readonly className?: string;
}

export const Tokens = ({ input, output, className }: TokensProps) => (
  <span
    className={className ?? 'tabular-nums'}
    title={`${input.toLocaleString('en')} tokens in, ${output.toLocaleString('en')} out`}
  >
    {formatCount(input + output)}
    <span className="sr-only"> tokens</span>
  </span>
);
