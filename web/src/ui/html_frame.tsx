/**
 * A page that a run logged. The sandbox gives it an origin of its own and no scripts, and the
 * policy no address to load from: it can neither read this page nor tell anybody that it was
 * seen.
 */
export function HtmlFrame({ html, title }: { html: string; title: string }) {
  const policy =
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; ' +
    "style-src 'unsafe-inline'; font-src data:\">";
  return (
    <iframe
      class="html-frame"
      title={title}
      sandbox=""
      referrerpolicy="no-referrer"
      srcdoc={policy + html}
    />
  );
}
