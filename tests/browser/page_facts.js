// What a test asks of a page, in one object.
(() => {
  const shown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  const numbers = (colour) => {
    // "rgb(1, 2, 3)", "rgba(1, 2, 3, 0.5)", or "color(srgb 0.1 0.2 0.3 / 0.5)", which color-mix gives.
    const found = colour.match(/[\d.]+/g).map(Number);
    const scale = colour.startsWith("color(") ? 255 : 1;
    return { rgb: found.slice(0, 3).map((one) => one * scale), alpha: found[3] ?? 1 };
  };
  const over = (top, below) => top.rgb.map((one, i) => top.alpha * one + (1 - top.alpha) * below[i]);
  const ground = (element) => {
    if (!element) return matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches ? [18, 18, 18] : [255, 255, 255];
    const own = numbers(getComputedStyle(element).backgroundColor);
    return own.alpha === 1 ? own.rgb : over(own, ground(element.parentElement));
  };
  // WCAG 2.1, relative luminance and contrast ratio.
  const luminance = (rgb) => {
    const linear = rgb.map((one) => one / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const contrast = (element) => {
    const below = ground(element);
    const both = [luminance(over(numbers(getComputedStyle(element).color), below)), luminance(below)].sort((a, b) => a - b);
    return (both[1] + 0.05) / (both[0] + 0.05);
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && shown(element)) texts.push(element);
  }
  const words = (element) => element.textContent.trim().slice(0, 60);
  const width = document.documentElement.clientWidth;
  const inside = (element) => element.closest(".scroll, .scaling .headlines");
  return {
    width,
    contentWidth: document.documentElement.scrollWidth,
    // Beyond the edge, unless in a box that scrolls by itself.
    beyond: [...document.body.querySelectorAll("*")]
      .filter((one) => shown(one) && (!inside(one) || inside(one) === one) && one.getBoundingClientRect().right > width + 1)
      .map((one) => `${one.tagName} ${words(one)}`),
    paperBeyond: [...document.querySelectorAll("table")].filter((one) => one.getBoundingClientRect().right > width + 1).map(words),
    headings: [...document.querySelectorAll("h1, h2, h3")].map((one) => [one.tagName, one.textContent.trim(), shown(one)]),
    deadLinks: [...document.querySelectorAll("a[href^='#']")].filter((one) => !document.querySelector(one.getAttribute("href"))).map(words),
    links: [...document.querySelectorAll("nav > ul > li > a")].map((one) => one.textContent.trim()),
    pages: [...document.querySelectorAll("a:not([href^='#'])")].map((one) => one.getAttribute("href")),
    listed: [...document.querySelectorAll("nav a")].map((one) => one.getAttribute("href").slice(1)),
    back: [...document.querySelectorAll("a.back")].filter(shown).length,
    nameless: [...document.querySelectorAll("h1, h2, h3, caption")].filter((one) => !one.closest("[id]") || !one.querySelector("a")).map(words),
    tables: [...document.querySelectorAll("table")].map((one) => one.closest(".scroll[id]")?.id ?? ""),
    titled: [...document.querySelectorAll("caption")].map((one) => one.closest("[id]")?.id ?? ""),
    twice: [...document.querySelectorAll("[id]")].map((one) => one.id).filter((one, i, all) => all.indexOf(one) !== i),
    scrolls: [...document.querySelectorAll(".scroll")].filter(shown).map((one) => {
      const box = one.getBoundingClientRect();
      return { hidden: one.scrollWidth - one.clientWidth, right: box.right + scrollX, top: box.top + scrollY, bottom: box.bottom + scrollY };
    }),
    pictures: [...document.images].map((one) => ({ alternative: one.alt, loaded: one.complete && one.naturalWidth > 0, shown: shown(one), inches: one.width / 96,
      keepsShape: Math.abs(one.width / one.height - one.naturalWidth / one.naturalHeight) < 0.05 })),
    weak: [...new Set(texts)].map((one) => [contrast(one), `${one.tagName} ${words(one)}`]).filter((one) => one[0] < 4.5),
    texts: texts.length,
    folded: [...document.querySelectorAll("details li")].filter((one) => !shown(one)).map(words),
  };
})()
