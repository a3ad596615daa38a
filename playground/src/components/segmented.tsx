interface SegmentedProps<T extends string> {
  /** Describes the choice for screen readers. */
  readonly label: string;
  readonly options: readonly {
    readonly value: T;
    readonly label: string;
    readonly disabled?: boolean;
  }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** A choice between a few options, all of them visible. */
export function Segmented<T extends string>({
  label,
  options,
  value,
  onChange,
}: SegmentedProps<T>) {
  return (
    <fieldset class="segmented" aria-label={label}>
      {options.map((option) => (
        <label key={option.value} class={option.value === value ? "chosen" : ""}>
          <input
            type="radio"
            name={label}
            value={option.value}
            checked={option.value === value}
            disabled={option.disabled === true}
            onChange={() => onChange(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  );
}
