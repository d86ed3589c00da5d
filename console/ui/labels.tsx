/** Labels of a resource. */
export function Labels({ labels }: { readonly labels: Readonly<Record<string, string>> }) {
  return Object.entries(labels).map(([label, value]) => (
    <span className="tag" key={label}>
      {label}: {value}
    </span>
  ))
}
