"""Key and token formats of the common vendors, as data: kind, literal, pattern, prefilter.

The pattern is tried only where the literal occurs. The bulk prefilter is the literal, or the
fourth entry (a regex without look-around that the pattern implies) where the literal is common
in plain text. Of a pattern with a group only the group is redacted.
"""

from __future__ import annotations

_B = r"(?<![A-Za-z0-9])"
_E = r"(?![A-Za-z0-9])"
_W = r"[A-Za-z0-9_-]"
_X = r"[A-Za-z0-9]"

VENDOR_FORMATS: tuple[tuple[str, ...], ...] = (
    # Models
    ("api_key", "sk-", rf"{_B}sk-(?={_W}{{0,200}}[0-9]){_W}{{20,}}+", "sk-[A-Za-z0-9_-]{20}"),
    ("api_key", "gsk_", rf"gsk_{_X}{{40,}}+"),
    ("api_key", "xai-", rf"{_B}xai-{_X}{{60,}}+", "xai-[A-Za-z0-9]{60}"),
    ("api_key", "pplx-", rf"pplx-{_X}{{40,}}+"),
    ("api_key", "r8_", rf"{_B}r8_{_X}{{37,}}+"),
    ("token", "hf_", rf"{_B}hf_{_X}{{30,}}+", "hf_[A-Za-z0-9]{30}"),
    ("token", "api_org_", rf"{_B}api_org_{_X}{{30,}}+"),
    # Clouds
    ("api_key", "AKIA", rf"{_B}AKIA[A-Z0-9]{{16}}{_E}"),
    ("api_key", "ASIA", rf"{_B}ASIA[A-Z0-9]{{16}}{_E}"),
    ("api_key", "AIza", rf"AIza{_W}{{35}}"),
    ("api_key", "GOCSPX-", rf"GOCSPX-{_W}{{20,}}+"),
    ("token", "ya29.", rf"{_B}ya29\.{_W}{{20,}}+"),
    ("token", "1//0", rf"{_B}1//0{_W}{{30,}}+"),
    ("api_key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{40,}+={0,2})"),
    ("api_key", "SharedAccessKey=", r"SharedAccessKey=([A-Za-z0-9+/]{30,}+={0,2})"),
    ("token", "sig=", r"[?&;]sig=([A-Za-z0-9%+/]{40,}+={0,2})", "sig=[A-Za-z0-9%+/]{40}"),
    ("token", "X-Amz-", r"X-Amz-(?:Signature|Credential|Security-Token)=([A-Za-z0-9%+/_.-]{16,}+={0,2})"),
    ("token", "X-Goog-", r"X-Goog-(?:Signature|Credential)=([A-Za-z0-9%+/_.-]{16,}+={0,2})"),
    ("token", "dapi", rf"{_B}dapi[0-9a-f]{{32}}(?:-[0-9])?{_E}"),
    ("token", "_v1_", rf"{_B}do[opr]_v1_[0-9a-f]{{64}}", "_v1_[0-9a-f]{64}"),
    ("api_key", "v1.0-", rf"{_B}v1\.0-[0-9a-f]{{24}}-[0-9a-f]{{146}}"),
    ("token", "hvs.", rf"{_B}hvs\.{_W}{{24,}}+"),
    ("token", "hvb.", rf"{_B}hvb\.{_W}{{24,}}+"),
    ("token", "hvr.", rf"{_B}hvr\.{_W}{{24,}}+"),
    ("token", ".atlasv1.", rf"{_B}{_X}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,}}+"),
    (
        "token",
        "dp.",
        rf"{_B}dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._]{{40,}}+",
        r"dp\.[a-z]{2,5}\.[A-Za-z0-9]",
    ),
    ("token", "HRKU-", rf"{_B}HRKU-{_W}{{30,}}+"),
    ("token", "tskey-", rf"{_B}tskey-{_W}{{20,}}+"),
    ("token", "fm2_", r"(?<![A-Za-z0-9])fm2_[A-Za-z0-9+/=_-]{40,}+"),
    ("token", "pul-", rf"{_B}pul-[0-9a-f]{{40}}{_E}"),
    ("token", "sbp_", rf"{_B}sbp_[0-9a-f]{{40}}"),
    ("token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9._-]{32,}+"),
    # Code hosts and registries
    ("token", "ghp_", rf"ghp_{_X}{{30,}}+"),
    ("token", "gho_", rf"gho_{_X}{{30,}}+"),
    ("token", "ghu_", rf"ghu_{_X}{{30,}}+"),
    ("token", "ghs_", rf"ghs_{_X}{{30,}}+"),
    ("token", "ghr_", rf"ghr_{_X}{{30,}}+"),
    ("token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,}+"),
    (
        "token",
        "gl",
        rf"{_B}gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-{_W}{{20,}}+",
        "gl[a-z]{2,5}-[A-Za-z0-9_-]{20}",
    ),
    ("token", "npm_", rf"{_B}npm_{_X}{{36,}}+", "npm_[A-Za-z0-9]{36}"),
    ("token", "pypi-", rf"{_B}pypi-{_W}{{50,}}+"),
    ("token", "dckr_pat_", rf"dckr_pat_{_W}{{20,}}+"),
    ("token", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("token", "sgp_", rf"{_B}sgp_[A-Za-z0-9_]{{40,}}+"),
    # Chat
    ("token", "xox", r"xox[abeoprs]-[A-Za-z0-9.-]{10,}+", "xox[a-z]-"),
    ("token", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{20,}+"),
    (
        "token",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,}+)",
    ),
    ("token", "/api/webhooks/", rf"discord(?:app)?\.com/api/webhooks/([0-9]{{15,22}}/{_W}{{60,}}+)"),
    ("token", ":AA", rf"(?<![0-9A-Za-z])[0-9]{{8,10}}:AA{_W}{{33}}", "[0-9]:AA"),
    # Payment, mail, shops, work tools
    ("api_key", "sk_", rf"{_B}sk_(?:live|test|prod)_{_X}{{10,}}+", "sk_(?:live|test|prod)_"),
    ("api_key", "rk_", rf"{_B}rk_(?:live|test|prod)_{_X}{{10,}}+", "rk_(?:live|test|prod)_"),
    ("api_key", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}+"),
    ("api_key", "SK", rf"{_B}SK[0-9a-f]{{32}}{_E}", "SK[0-9a-f]{32}"),
    ("api_key", "SG.", rf"{_B}SG\.{_W}{{16,32}}\.{_W}{{16,64}}", r"SG\.[A-Za-z0-9_-]{16}"),
    ("api_key", "key-", rf"{_B}key-[0-9a-f]{{32}}{_E}", "key-[0-9a-f]{32}"),
    ("api_key", "xkeysib-", r"xkeysib-[0-9a-f]{40,}+(?:-[A-Za-z0-9]{10,20})?"),
    ("token", "shp", rf"{_B}shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}", "shp[a-z]{2}_"),
    ("token", "sq0", rf"{_B}sq0(?:atp|csp|idp)-{_W}{{22,}}+"),
    ("api_key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("api_key", "lin_", rf"{_B}lin_(?:api|oauth)_{_X}{{32,}}+"),
    ("token", "secret_", rf"{_B}secret_{_X}{{43}}{_E}", "secret_[A-Za-z0-9]{43}"),
    ("token", "ntn_", rf"{_B}ntn_{_X}{{40,}}+"),
    ("token", "glsa_", rf"glsa_{_X}{{32}}_[0-9a-fA-F]{{8}}"),
    ("token", "glc_", rf"{_B}glc_[A-Za-z0-9+/=]{{32,}}+"),
    ("token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{60,}+"),
    ("token", "figd_", rf"figd_{_W}{{36,}}+"),
    ("token", "nfp_", rf"{_B}nfp_{_X}{{36,}}+"),
    ("token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_]{40,}+", "sntry[su]_"),
    ("api_key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("token", "pat", rf"{_B}pat{_X}{{14}}\.[0-9a-f]{{64}}", r"pat[A-Za-z0-9]{14}\.[0-9a-f]"),
    ("private_key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+"),
)
